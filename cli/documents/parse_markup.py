"""XML and RTF: formats whose text needs little work."""

import re
from collections import Counter
from typing import Any

from striprtf.striprtf import rtf_to_text

from pgblend.cli.documents.dates import is_date_key, moment_of, told_date
from pgblend.cli.documents.document import Document, LeftOut, ParseError, stated_title
from pgblend.cli.documents.formula import raised
from pgblend.cli.documents.office_file import local_name, parse_xml
from pgblend.cli.documents.parse_html import parse_page

# Elements of DocBook, JATS, TEI, DITA and web pages that mark a part of a sentence, or a word's.
_PHRASE = re.compile(
    "a|abbr|b|bold|citetitle|code|command|em|emphasis|filename|foreign|hi|i|ital|italic|kbd|literal"
    "|mark|monospace|overline|ph|phrase|quote|roman|s|samp|sc|small|span|strike|strikethrough"
    "|strong|styled-content|sub|subscript|sup|superscript|symbol|term|tt|u|ulink|underline"
    "|uicontrol|var"
)
# How a page begins that is written into an element of a feed or an export, as text.
_PAGE = re.compile(
    r"</?(?:p|div|span|br|b|strong|i|em|a|ul|ol|li|h[1-6]|table|img|pre|code|blockquote)\b[^<>]*>",
    re.IGNORECASE,
)
# Attributes that are words for people: of outlines, maps of thoughts, windows.
_WORDS = re.compile(r"text|_note|title|label|caption|alt|tooltip", re.IGNORECASE)
_ABOVE = ("sup", "superscript")
_FEEDS = ("rss", "feed", "RDF")
# Parts lines; XML has no such letter.
_BREAK = "\x00"
_SPACES = re.compile(r"\s+")


def parse_xml_text(data: bytes) -> Document:
    """Read the text of any XML, a sentence with its marks or a whole element on each line.

    A title element names the document. Pages that feeds and exports hold as text are read as such.
    A feed's date is that of its newest entry.
    """
    root = parse_xml(data)
    titles = (stated_title(each.text or "") for each in root.iter("{*}title"))
    parts: list[str] = []
    _add_element(parts, root)
    lines = (line.strip() for line in "".join(parts).split(_BREAK))
    return Document(
        title=next(filter(None, titles), ""),
        text="\n".join(filter(None, lines)),
        metadata=_dates(root),
    )


def _dates(root: Any) -> dict[str, str]:
    """Return the date of a feed's newest entry, else the dates that are stated once."""
    is_feed = local_name(root) in _FEEDS
    entries = root.iter("{*}item", "{*}entry") if is_feed else ()
    newest = max(filter(None, (told_date(_stated(each)) for each in entries)), default=None)
    return {"date": newest.isoformat()} if newest else _stated(root)


def _stated(element: Any) -> dict[str, str]:
    """Return the dates in an element by their names; what has several like it is a record."""
    named = [(local_name(child), child) for child in element]
    counts = Counter(name for name, _ in named)
    found: dict[str, str] = {}
    for name, child in named:
        if is_date_key(name):
            value = _date_in(child)
            if told_date({name: value}):
                found.setdefault(name, value)
        elif counts[name] == 1:
            found = _stated(child) | found
    return found


def _date_in(element: Any) -> str:
    """Return the date of an element as TEI's attribute, as the parts of JATS or as its text."""
    parts = {local_name(child): child.text or "" for child in element}
    if "year" in parts:
        return "-".join(parts.get(part, "") for part in ("year", "month", "day"))
    return element.get("when") or "".join(element.itertext()).strip()


def _add_element(parts: list[str], element: Any) -> None:
    """Add an element's text; within a sentence its children are parts of it."""
    is_sentence = _is_sentence(element)

    def text(given: str | None) -> str:
        return _SPACES.sub(" ", given or "") if is_sentence else given or ""

    parts += [each for value in _said(element) for each in (value, _BREAK)]
    shown = _shown(text(element.text), element)
    parts.append(raised(shown) if local_name(element) in _ABOVE else shown)
    for child in element:
        name, tail = local_name(child), text(child.tail)
        if not name:  # a comment
            parts.append(tail)
        elif not is_sentence or not _is_phrase(child):
            parts.append(_BREAK)
            _add_element(parts, child)
            parts += (_BREAK, tail)
        else:
            is_word = _PHRASE.fullmatch(name) is not None
            parts.append("" if is_word or parts[-1].endswith(" ") else " ")
            _add_element(parts, child)
            parts += ("" if is_word or tail.startswith(" ") else " ", tail)


def _said(element: Any) -> list[str]:
    """Return the attributes of an element that are words."""
    named = ((name.rpartition("}")[2], value) for name, value in element.items())
    return [_SPACES.sub(" ", value) for name, value in named if _WORDS.fullmatch(name)]


def _shown(text: str, element: Any) -> str:
    """Return the text of an element; of a page that stands there what a reader of it sees."""
    is_page = not len(element) and (element.get("type") == "html" or _PAGE.search(text))
    return parse_page(text).text.replace("\n", _BREAK) if is_page else text


def _is_sentence(element: Any) -> bool:
    """Whether an element has a text of its own with others in it."""
    own = (element.text, *(child.tail for child in element))
    return len(element) > 0 and any(each and not each.isspace() for each in own)


def _is_phrase(element: Any) -> bool:
    """Whether an element has but one text, with its marks."""
    return not len(element) or (
        (len(element) == 1 or _is_sentence(element)) and all(map(_is_phrase, element))
    )


# A word with its number, an escaped character, a brace, a run of text.
_TOKEN = re.compile(r"\\([A-Za-z]+)(-?\d+)? ?|\\'[0-9A-Fa-f]{2}|\\.|[{}]|[^\\{}]+", re.DOTALL)
# Groups that stand beside the text: what pages show once, notes, comments, text boxes.
_PAGES = ("", "l", "r", "f")
_BESIDE = frozenset(
    (
        *(f"{name}{page}" for name in ("header", "footer") for page in _PAGES),
        *("footnote", "annotation", "shptxt", "dptxbxtext"),
    )
)
_TIMES = {"creatim": "created", "revtim": "modified"}
_PROPERTIES = frozenset(("title", "author", "subject", "keywords", *_TIMES))
_PART_OF_TIME = re.compile(r"\\(yr|mo|dy|hr|min)(\d+)")
_HIDDEN, _DELETED = "v", "deleted"
# What sets figures above the line, and what ends that.
_SUPER, _ON_LINE = "super", ("nosupersub", "sub", "plain")
# What a list or a box of Word's forms shows is among its settings; its result may be empty.
_FORM, _RESULT = "formfield", "fldrslt"
_SETTING = re.compile(r"\\(fftype|ffres|ffdefres)(\d+)")
_ENTRY = re.compile(r"\{\s*\\\*\\ffl\s?([^{}]*)\}")
_UNDEFINED = 25
_BOX_TYPE, _LIST_TYPE = 1, 2


class _Rtf:
    """An RTF taken apart: its text, what stands beside it, its properties; nothing deleted."""

    def __init__(self, source: str) -> None:
        self.text: list[str] = []
        self.beside: list[list[str]] = []
        self.properties: dict[str, list[str]] = {}
        self.has_hidden = False
        self._sink, self._is_gone, self._is_raised = self.text, False, False
        self._around: list[tuple[list[str], bool, bool]] = []
        self._form: list[str] = []
        self._results: list[tuple[int, int, str]] = []
        begins = False
        place = 0
        while match := _TOKEN.match(source, place):
            token = match.group()
            place = match.end()
            if match.group(1) == "bin":
                place += int(match.group(2) or 0)
            elif token == "{":
                self._around.append((self._sink, self._is_gone, self._is_raised))
                self._sink.append(token)
            elif token == "}":
                self._end_group()
            else:
                self._add(token, match.group(1) or "", match.group(2), begins)
            begins = token == "{" or (begins and (token == "\\*" or token.isspace()))

    def _end_group(self) -> None:
        outer = self._sink
        if self._results and self._results[-1][0] == len(self._around):
            _, start, chosen = self._results.pop()
            if not any(each[0] not in "\\{} \r\n" for each in outer[start:]):
                outer.append(chosen)
        if self._around:
            outer, self._is_gone, self._is_raised = self._around.pop()
        if outer is self._sink:
            self._sink.append("}")
        self._sink = outer

    def _add(self, token: str, word: str, number: str | None, begins: bool) -> None:
        """Add a token; the first word of a group says where that stands."""
        if begins and (word in _BESIDE or word in _PROPERTIES or word == _FORM):
            while self._sink.pop() != "{":
                pass
            self._sink = self._open(word)
        elif word in (_HIDDEN, _DELETED):
            self._is_gone = number != "0"
            self.has_hidden = self.has_hidden or (self._is_gone and word == _HIDDEN)
        else:
            self._is_gone = self._is_gone and word != "plain"
            if word == _SUPER:
                self._is_raised = number != "0"
            elif word in _ON_LINE:
                self._is_raised = False
            if not self._is_gone:
                self._sink.append(_raised(token) if self._is_raised else token)
            if begins and word == _RESULT and self._form:
                chosen = f"{{{_chosen(''.join(self._form))}}}"
                self._results.append((len(self._around), len(self._sink), chosen))
                self._form = []

    def _open(self, word: str) -> list[str]:
        """Begin a group that does not stay where it is."""
        sink: list[str] = []
        if word in _PROPERTIES:
            self.properties[word] = sink
        elif word == _FORM:
            self._form = sink
        else:
            self.beside.append(sink)
        return sink


def _raised(token: str) -> str:
    """Write figures that stand above the line as RTF has letters of Unicode."""
    figures = raised(token)
    return token if figures == token else "".join(rf"{{\uc0\u{ord(each)}}}" for each in figures)


def _chosen(form: str) -> str:
    """Return what a field of a form shows, as RTF: an entry of its list, a box with its tick."""
    found = {name: int(number) for name, number in _SETTING.findall(form)}
    result = found.get("ffres", _UNDEFINED)
    place = found.get("ffdefres", 0) if result == _UNDEFINED else result
    if found.get("fftype") == _BOX_TYPE:
        return r"\u9746?" if place else r"\u9744?"
    entries = _ENTRY.findall(form) if found.get("fftype") == _LIST_TYPE else []
    return entries[place].strip() if place < len(entries) else ""


def parse_rtf(data: bytes) -> Document:
    """Read an RTF's text; page heads and feet, notes, comments and text boxes follow it."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ParseError("no RTF: it does not begin with {\\rtf")
    rtf = _Rtf(data.decode("latin-1"))
    beside = dict.fromkeys("".join(each) for each in rtf.beside)
    end = "".join(rf"\par\par {each}" for each in beside)
    text = "".join(rtf.text).rstrip().removesuffix("}")
    stated = {name: "".join(each) for name, each in rtf.properties.items()}
    times = {key: _time_of(stated.pop(word, "")) for word, key in _TIMES.items()}
    properties = {name: _words_of(each) for name, each in stated.items()} | times
    title = stated_title(properties.pop("title", ""))
    hidden = LeftOut("hidden text", "it is not shown", "show it in a word processor, and save it")
    return Document(
        title=title,
        text=_words_of(f"{text}{end}}}"),
        metadata={name: value for name, value in properties.items() if value},
        left_out=(hidden,) if rtf.has_hidden else (),
    )


def _time_of(source: str) -> str:
    r"""Return the time of a group such as \yr2024\mo3\dy5\hr10\min7, which has no zone."""
    parts = {word: int(number) for word, number in _PART_OF_TIME.findall(source)}
    day = "-".join(f"{parts.get(word, 0):02}" for word in ("yr", "mo", "dy"))
    moment = moment_of(f"{day} {parts.get('hr', 0)}:{parts.get('min', 0):02}")
    return moment.isoformat() if moment else ""


# A font of a table of fonts that names no letters of its own: the library gives it the next one's.
_FONT = re.compile(r"(\{\\f\d+)((?:(?!\\fcharset)[^;{}])*;\})")


def _words_of(source: str) -> str:
    source = _FONT.sub(r"\1\\fcharset1\2", source)
    try:
        text = rtf_to_text(source, errors="replace")
    except (ValueError, LookupError, IndexError, TypeError, AttributeError) as error:
        raise ParseError(f"no readable RTF: {error}") from None
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"\n{3,}", "\n\n", text).strip()
