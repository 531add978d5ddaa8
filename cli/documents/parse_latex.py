"""LaTeX: the text with its headings, macros are no words; and the entries of a bibliography."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import Document
from pgblend.cli.documents.formula import raised
from pgblend.cli.documents.light_markup import LineText
from pgblend.cli.documents.text_builder import TextBuilder

_LEVELS = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
    "frametitle": 3,
}
_BRACED = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_HEADING = re.compile(rf"\\({'|'.join(_LEVELS)})\*?\s*(?:\[[^\]]{{0,1000}}\])?\s*{_BRACED}")
# Macros that the author made: name, number of arguments, what stands for the first, text.
_DEFINITION = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand|DeclareMathOperator)\*?\s*"
    rf"\{{?\s*\\([A-Za-z]+)\s*\}}?\s*(?:\[(\d)\])?\s*(?:\[([^\]]{{0,1000}})\])?\s*{_BRACED}"
    rf"|\\def\s*\\([A-Za-z]+)((?:#\d)*)\s*{_BRACED}"
)
_ARGUMENT = re.compile(rf"\s*{_BRACED}")
_OPTIONAL = re.compile(r"\s*\[([^\]]{0,1000})\]")
# What is written for TeX itself, not for readers.
_PROGRAM = re.compile(r"@|\\(?:if|expandafter|csname|begingroup|setbox)")
_LONGEST_MACRO = 500
_MOST_NESTED = 4
# A text may not become longer than so many times itself.
_MOST_GROWTH = 4
_ABOUT = re.compile(
    rf"\\(title|author|date|subtitle)\s*(?:\[[^\]]{{0,1000}}\])?\s*{_BRACED}", re.DOTALL
)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_VERBATIM = re.compile(
    r"\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|comment|filecontents\*?)\}.*?\\end\{\1\}",
    re.DOTALL,
)
_UNSEEN_BLOCKS = frozenset(("comment", "filecontents", "filecontents*"))
# Commands whose argument is no text: names of places, files, sizes.
_SILENT = re.compile(
    r"\\(?:label|bibitem|(?:no)?cite\w*|[a-z]*cite[a-z]*|ref|eqref|pageref|[cC]ref|autoref|nameref|index|hypertarget|hyperlink"
    r"|input|include|subfile|includestandalone|lstinputlisting|verbatiminput|includegraphics|bibliography|bibliographystyle|usepackage|documentclass"
    r"|hspace|vspace|pagestyle|thispagestyle|(?:setlength|addtolength|setcounter|addtocounter|fcolorbox)\s*\{[^{}]*\}|RequirePackage"
    r"|(?:re)?newenvironment|let|newtheorem|color|colorbox"
    r"|definecolor|hypersetup|graphicspath|pagenumbering|addbibresource|textcolor|fontsize"
    r"|(?:sub)?import\*?\{[^{}]*\}|inputminted(?:\[[^\]]{0,1000}\])?\{[^{}]*\}|selectlanguage|vskip|hskip|cline|cmidrule|multicolumn\{\d+\}|multirow\{\d+\})"
    r"\*?\s*(?:\[[^\]]{0,1000}\]\s*)*\{[^{}]*\}(?:\[[^\]]{0,1000}\])*"
)
# Files that stand here when the text is set; those of macros have no text.
_INCLUDED = re.compile(
    r"\\(?:input|include|subfile|includestandalone|lstinputlisting|verbatiminput"
    r"|inputminted(?:\[[^\]]{0,1000}\])?\{[^{}]*\}|(?:sub)?import\*?\s*\{([^{}]*)\})"
    r"\s*(?:\[[^\]]{0,1000}\])?\s*\{([^{}]+)\}"
)
# What lists the literature; where it stands, it is set.
_LITERATURE = re.compile(
    r"\\(?:bibliography|addbibresource)\s*(?:\[[^\]]{0,1000}\])?\s*\{([^{}]+)\}"
)
_SKIPPED = re.compile(r"\\iffalse\b(?:(?!\\iffalse\b).)*?\\fi\b", re.DOTALL)
# Figures and their units; of the package `units` the figure is the option.
_QUANTITY = re.compile(
    r"\\(SI|si|qty|unit|SIrange|qtyrange)(?![A-Za-z])\s*(?:\[([^\]]{0,1000})\])?"
    rf"((?:\s*{_BRACED}){{1,3}})"
)
_UNIT = re.compile(r"\\([A-Za-z]+)\s*")
_PREFIXES = frozenset(
    ("nano", "micro", "milli", "centi", "deci", "hecto", "kilo", "mega", "giga", "tera")
)
_OPTION = r"(?:\s*\[[^\]]{0,1000}\])*"
_ENVIRONMENT = re.compile(
    r"\\begin\{(?:tabular|array|longtable|minipage|multicols|thebibliography|adjustbox)\}"
    rf"{_OPTION}\s*{_BRACED}{_OPTION}"
    rf"|\\begin\{{(?:tabular\*|tabularx|wrapfigure)\}}{_OPTION}\s*{_BRACED}{_OPTION}\s*{_BRACED}"
    # Of theorems and the like the name in brackets is shown.
    r"|\\(?:begin|end)\{[^{}]*\}(?:\[(?![A-Z][^\W\d_]+[^\]=]*\])[^\]]{0,1000}\])?"
)
_FRAME = re.compile(rf"(\\begin\{{frame\}}(?:<[^>]*>)?{_OPTION})\s*{_BRACED}(?:\s*{_BRACED})?")
_NOTE = re.compile(rf"(?<![ \t])[ \t]*\\footnote(?:text)?\s*(?:\[[^\]]{{0,1000}}\])?\s*{_BRACED}")
_THANKS = re.compile(rf"\\thanks\s*{_BRACED}")
_ITEM = re.compile(r"\\item\s*\[([^\]]{0,1000})\]")
_VERB = re.compile(r"\\(?:verb|lstinline)\*?([^\w\s{*])(.*?)\1")
_PICTURE = re.compile(
    r"\\begin\{(tikzpicture|pgfpicture)\}(?:(?!\\begin\{\1\}).)*?\\end\{\1\}", re.DOTALL
)
_NODE = re.compile(rf"node\b[^{{;]{{0,500}}{_BRACED}")
_LINK = re.compile(r"\\href\s*\{[^{}]*\}\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306",
    ".": "\u0307", '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "c": "\u0327",
    "k": "\u0328",
}  # fmt: skip
_ACCENT = re.compile(
    r"\\([`'^~=.\"])\s*(?:\{\s*(\\?[A-Za-z])\s*\}|(\\[A-Za-z](?![A-Za-z]) ?|[A-Za-z]))"
    r"|\\([uvHckr])\s*\{\s*(\\?[A-Za-z])\s*\}"
)
_LETTERS = {
    "ss": "\u00df", "ae": "\u00e6", "AE": "\u00c6", "oe": "\u0153", "OE": "\u0152", "o": "\u00f8",
    "O": "\u00d8", "aa": "\u00e5", "AA": "\u00c5", "l": "\u0142", "L": "\u0141", "i": "i",
    "j": "j", "dots": "\u2026", "ldots": "\u2026", "textendash": "\u2013", "textemdash": "\u2014",
    "copyright": "\u00a9", "S": "\u00a7", "P": "\u00b6", "pounds": "\u00a3", "euro": "\u20ac",
    "texteuro": "\u20ac", "LaTeX": "LaTeX", "TeX": "TeX", "textbackslash": "\\", "times": "\u00d7",
    "cdot": "\u00b7", "leq": "\u2264", "le": "\u2264", "geq": "\u2265", "ge": "\u2265",
    "neq": "\u2260", "approx": "\u2248", "infty": "\u221e", "sum": "\u2211", "int": "\u222b",
    "rightarrow": "\u2192", "to": "\u2192", "leftarrow": "\u2190", "in": "\u2208", "pm": "\u00b1",
    "item": "- ", "boxtimes": "\u2612", "square": "\u2610", "Box": "\u2610",
    "checkmark": "\u2713", "and": "; ", "degree": "\u00b0", "textdegree": "\u00b0", "slash": "/",
    "textbar": "|", "textless": "<", "textgreater": ">", "textasciitilde": "~", "textmu": "\u00b5",
    "textquotesingle": "'", "textregistered": "\u00ae", "texttrademark": "\u2122", "dag": "\u2020",
    "guillemotleft": "\u00ab", "guillemotright": "\u00bb", "og": "\u00ab ", "fg": " \u00bb",
}  # fmt: skip
# What moves on in the line or ends it: words on both sides are two.
_LETTERS |= dict.fromkeys(
    (
        *(
            "quad",
            "qquad",
            "space",
            "enspace",
            "thinspace",
            "hfill",
            "hfil",
            "dotfill",
            "hrulefill",
        ),
        *("newline", "linebreak", "par", "vfill", "newpage", "clearpage", "pagebreak"),
        *("bigskip", "medskip", "smallskip"),
    ),
    " ",
)
_SPACED = re.compile(r"\\(?:[hv]space|[hv]skip)")
_LINE_BREAK = re.compile(r"\\\\\*?(?:\[[-\d.\s]*(?:[a-z]{2})?\])?")
# Where a word may be divided, and the hyphens of babel at which it may be as well.
_DIVISION = re.compile(r"\\[-/]|(?<=\w)\"[-\"](?=\w)")
_HYPHEN = re.compile(r"(?<=\w)\"[=~](?=\w)")
_DEGREES = re.compile(r"\^\s*(?:\{\s*)?\\circ\b\s*\}?")
_SHORT = r"\{?([^{}$^_\\]{1,12})\}?"
_ABOVE = re.compile(rf"\\textsuperscript\s*\{{([^{{}}]*)\}}|\$\^{_SHORT}\$")
_BELOW = re.compile(rf"\$_{_SHORT}\$")
_FRACTION = re.compile(r"\\d?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?[ \t]*(?:\[[^\]\n]{0,1000}\](?=\s*\{))?")
_ESCAPED = re.compile(r"\\([%&$#_{}])")
_KEPT = str.maketrans("%&$#_{}", "\ue000\ue001\ue002\ue003\ue004\ue005\ue006")
_RETURNED = {0xE000 + place: letter for place, letter in enumerate("%&$#_{}")}


@dataclass(frozen=True)
class _Macro:
    """A macro that the author made; the first of its arguments may have a usual value."""

    count: int
    usual: str
    text: str


class _Macros:
    """The macros that a text defines: written out where they are used."""

    def __init__(self, source: str) -> None:
        self._known = {
            name or other: _Macro(int(count or marks.count("#")), usual, text or meaning)
            for name, count, usual, text, other, marks, meaning in _DEFINITION.findall(source)
            if not _PROGRAM.search(text or meaning) and len(text or meaning) <= _LONGEST_MACRO
        }
        names = "|".join(sorted(self._known, key=len, reverse=True))
        self._used = re.compile(rf"\\({names})(?![A-Za-z])") if names else None

    def written_out(self, source: str) -> str:
        """Return a text with the meaning of its macros; what defines them is no text."""
        source = _DEFINITION.sub(_line_ends, source)
        most = len(source) * _MOST_GROWTH
        for _ in range(_MOST_NESTED):
            if self._used is None or len(source) > most or not self._used.search(source):
                break
            source = self._once(source, self._used, most)
        return source

    def _once(self, source: str, used: re.Pattern[str], most: int) -> str:
        parts: list[str] = []
        place, length = 0, len(source)
        for match in used.finditer(source):
            if match.start() < place:
                continue  # within an argument of the one before: its turn comes
            arguments, end = self._arguments(source, match.end(), self._known[match[1]])
            said = self._known[match[1]].text
            numbered = [(f"#{number}", one) for number, one in enumerate(arguments, start=1)]
            length += len(said) + sum(said.count(mark) * len(one) for mark, one in numbered)
            if length > most:
                break
            for mark, one in numbered:
                said = said.replace(mark, one)
            parts += [source[place : match.start()], " ".join(said.split("\n"))]
            place = end
        return "".join([*parts, source[place:]])

    def _arguments(self, source: str, end: int, macro: _Macro) -> tuple[list[str], int]:
        arguments = []
        for number in range(macro.count):
            is_optional = bool(macro.usual) and number == 0
            found = (_OPTIONAL if is_optional else _ARGUMENT).match(source, end)
            arguments.append(found[1] if found else macro.usual if is_optional else "")
            end = found.end() if found else end
        return arguments, end


def parse_latex(data: bytes) -> Document:
    """Read a .tex file; what stands before its document is not shown, but for the title."""
    source = decode(data)
    text = LineText()
    prose = "".join(part for part, _ in _parts(source))
    macros = _Macros(prose)
    for name, said in _ABOUT.findall(macros.written_out(_THANKS.sub("", prose))):
        text.metadata.setdefault(name, " ".join(_plain(said).split()))
    body, before = _body(source)
    text.lines += [""] * (before + 1)
    for part, verbatim in _parts(body):
        _add_prose(text, macros.written_out(part))
        if verbatim is not None:
            is_unseen = verbatim.group(1) in _UNSEEN_BLOCKS
            lines = verbatim.group().split("\n")
            said = [""] * len(lines) if is_unseen else ["", *lines[1:-1], ""][: len(lines)]
            _continue(text, said)
        for folder, name in _INCLUDED.findall(part):
            text.tell_file(f"{folder}{name}".strip())
    for names in _LITERATURE.findall(prose):
        for name in names.split(","):
            text.tell_file(name.strip())
    return text.document()


def _parts(source: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Yield pieces of prose without their comments, each with the verbatim block after it."""
    place = 0
    for match in _VERBATIM.finditer(source):
        yield _seen(source[place : match.start()]), match
        place = match.end()
    yield _seen(source[place:]), None


def _seen(source: str) -> str:
    """Return a piece of prose without its comments."""
    return _SKIPPED.sub(_line_ends, _COMMENT.sub(r"\1", source))


def _labels(match: re.Match[str]) -> str:
    """Return what a drawing shows: the labels of its nodes."""
    return " ".join(found[1] for found in _NODE.finditer(match.group())) + _line_ends(match)


def _body(source: str) -> tuple[str, int]:
    """Return what is between \\begin{document} and its end, and how many lines are before."""
    start = source.find("\\begin{document}")
    end = source.find("\\end{document}")
    if start < 0:
        return source, 0
    start += len("\\begin{document}")
    return source[start : end if end > start else len(source)], source.count("\n", 0, start)


def _continue(text: LineText, lines: list[str]) -> None:
    """Add lines of which the first goes on with the last one."""
    if text.lines and lines and text.lines[-1] == "":
        text.lines.pop()
    elif text.lines and lines:
        text.lines[-1] += f" {lines.pop(0)}".rstrip()
    for line in lines:
        text.add(line)


def _add_prose(text: LineText, source: str) -> None:
    """Add text line by line; a macro's argument may go over several."""
    source = _VERB.sub(lambda match: match[2].translate(_KEPT), source)
    source = _PICTURE.sub(_labels, source)
    source = _FRAME.sub(r"\1\\frametitle{\2} \3", source)
    source = _SILENT.sub(_silence, source)
    source = _ABOUT.sub(_line_ends, source)
    source = _ENVIRONMENT.sub(_line_ends, source)
    place = 0
    for match in _HEADING.finditer(source):
        _continue(text, _plain(source[place : match.start()]).split("\n"))
        if text.lines and text.lines[-1] == "":
            text.lines.pop()
        text.add_heading(_plain(match.group(2)), _LEVELS[match.group(1)])
        for _ in range(match.group().count("\n")):
            text.add()
        place = match.end()
    _continue(text, _plain(source[place:]).split("\n"))


def _plain(source: str) -> str:
    """Return what a piece of LaTeX shows; its line ends stay."""
    text = _ESCAPED.sub(lambda match: match[1].translate(_KEPT), source)
    text = _BELOW.sub(r"\1", _ABOVE.sub(lambda match: raised(match[1] or match[2]), text))
    text = _HYPHEN.sub("-", _DIVISION.sub("", _DEGREES.sub("\u00b0", text)))
    text = _NOTE.sub(r" (\1)", text)
    text = _ITEM.sub(r"\\item{}\1 ", text)
    text = _LINK.sub(r"\1", text)
    text = _QUANTITY.sub(_quantity, text)
    text = _ACCENT.sub(_accented, text)
    text = _FRACTION.sub(r"(\1)/(\2)", text)
    text = _LINE_BREAK.sub(" ", text).replace("~", "\u00a0")
    text = _COMMAND.sub(_command, text.replace(" \\and ", "\\and "))
    text = re.sub(r"\\[,;:!> ()\[\]]", " ", text)
    text = text.replace("---", "\u2014").replace("--", "\u2013")
    text = text.replace("``", "\u201c").replace("''", "\u201d").replace("&", " | ")
    text = text.translate(dict.fromkeys(map(ord, "{}$")))
    return text.translate(_RETURNED)


def _quantity(match: re.Match[str]) -> str:
    """Return a figure with the names of its units."""
    *figures, unit = (one[1] for one in _ARGUMENT.finditer(match[3]))
    if match[2] and "=" not in match[2]:
        figures = [match[2], *figures]
    names = _UNIT.sub(lambda name: name[1] + " " * (name[1] not in _PREFIXES), unit)
    return " ".join((" \u2013 ".join(figures), names)).strip() + _line_ends(match)


def _accented(match: re.Match[str]) -> str:
    accent = match[1] or match[4]
    letter = (match[2] or match[3] or match[5]).lstrip("\\").strip()
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent])


def _command(match: re.Match[str]) -> str:
    """Return the letter that a command stands for; others are no words."""
    name = match[1]
    if name in _LETTERS:
        return _LETTERS[name]
    case = "CAPITAL" if name[:1].isupper() else "SMALL"
    base = name[3:] if name.startswith("var") else name
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {base.upper().replace('LAMBDA', 'LAMDA')}")
    except KeyError:
        return ""


def _silence(match: re.Match[str]) -> str:
    """Return what parts the words around a command that shows nothing."""
    return _line_ends(match) or " " * bool(_SPACED.match(match.group()))


def _line_ends(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


# BibTeX: `@article{key, name = {…} or "…" or a word, joined by #}`; values nest braces.
_ENTRY = re.compile(
    r"(?:^|(?<=\}))[ \t]*@[ \t]*(\w+)\s*[{(](?:\s*([^\s,{}()=]+)\s*,)?", re.MULTILINE
)
_NAME = re.compile(r"\s*,*\s*([\w:.+/-]+)\s*=\s*")
_WORD, _JOINED = re.compile(r"[^\s,#}]*"), re.compile(r"\s*#\s*")
_SIGN = re.compile(r'\\.|[{}"]', re.DOTALL)
_AS_WRITTEN = frozenset(("url", "doi", "eprint", "file"))
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def parse_bibtex(data: bytes) -> Document:
    """Read a .bib file: each entry under its title, then its key and fields as they are shown.

    An entry ends where the next begins, also where its own brace is missing.
    """
    source = decode(data)
    words = {name.lower(): name for name in _MONTHS}
    builder = TextBuilder()
    entries = [*_ENTRY.finditer(source)]
    ends = [*(each.start() for each in entries[1:]), len(source)]
    for match, end in zip(entries, ends, strict=True):
        kind, key, entry = match[1].lower(), match[2], source[match.end() : end]
        if kind == "string":
            words |= _fields(entry, words)
        elif key and kind not in ("comment", "preamble"):
            fields = _fields(entry, words)
            builder.add_heading(fields.pop("title", key), 1)
            said = (f"{name}: {value}" for name, value in fields.items())
            builder.add("\n".join((f"{kind} {key}", *said)))
    return Document(
        text=builder.text(),
        headings=tuple(builder.headings),
        metadata={"entries": len(builder.headings)},
    )


def _fields(source: str, words: dict[str, str]) -> dict[str, str]:
    """Return the fields of an entry, whose text behind its key is given."""
    fields: dict[str, str] = {}
    place = 0
    while name := _NAME.match(source, place):
        parts: list[str] = []
        place = name.end()
        while True:
            part, place = _value(source, place)
            parts.append(part if source[place - 1] in '}"' else words.get(part.lower(), part))
            joined = _JOINED.match(source, place)
            if not joined:
                break
            place = joined.end()
        key, said = name[1].lower(), "".join(parts)
        shown = " ".join((said if key in _AS_WRITTEN else _plain(said)).split())
        if shown:
            fields.setdefault(key, shown)
    return fields


def _value(source: str, start: int) -> tuple[str, int]:
    """Return one value, without its signs, and where it ends: at its brace, quote or letter."""
    if source[start : start + 1] not in ("{", '"'):
        end = _WORD.match(source, start)
        assert end is not None
        return end[0], end.end()
    depth = 0
    for match in _SIGN.finditer(source, start):
        sign = match[0]
        depth += (sign == "{") - (sign == "}")
        if depth == 0 and match.start() > start and sign == ("}" if source[start] == "{" else '"'):
            return source[start + 1 : match.start()], match.end()
    return source[start + 1 :], len(source)
