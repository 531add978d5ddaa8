"""Texts as a quotation is compared with them: words in one form, addresses and code whole."""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import unquote

# Symbols that say something; other signs are left out.
SIGNS = "%‰&@/§°<>=+±\u00d7÷≤≥≠≈^$¢£¤¥฿€₣₤₦₨₩₪₫₭₮₱₲₴₵₸₹₺₽₿"
# May stand within a word, and may be left out there: apostrophes, emphasis, editors' brackets.
WITHIN = "'\u2019\u2018\u201b\u02b9\u02bb\u02bc\u02bd\u02be\u02bf\u00b4`\u2032*_~[](){}·"
KEPT = f"{SIGNS}.,:\n"
DASHES = "-\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d"
# Vowel points of Hebrew and Arabic, and what stretches an Arabic word: many leave them out.
POINTS = "\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u0652\u0670"
LEFT_OUT = re.compile(
    f"[™℠\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff{POINTS}]"
)
SOFT_HYPHEN = re.compile(r"\u00ad(?:[ \t]*\n\s*)?")
# 1½ is no 11/2, 10⁶ no 106, and .5 no 5.
BEFORE_FRACTION = re.compile("(?<=[0-9])(?=[\u00bc-\u00be\u2150-\u215e])")
RAISED = "[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207b]"
BEFORE_POWER = re.compile(f"(?<=[0-9])(?={RAISED})")
BARE_POINT = re.compile(r"(?<![\w.)\]\"'\u2019”])(?=\.\d)")
# x² is x2 and x^2.
POWER_OF_LETTER = re.compile(r"(?<=[^\W\d_])\^(?=\d)")
PLAIN_SPACES = str.maketrans("\u00a0\u202f", "  ")
# 1,500 and 1500 are one figure.
THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})((?:[,'\u2019\u00a0\u202f]\d{3})+)(?![\d,])")

# In a text of this form: a word's character, and the mark of a joint within a word.
JOINT = "_"
MINUS = "\u2212"
RANGE = "~"
NO_WORD = rf" \n'.,:\-{JOINT}{MINUS}{RANGE}{re.escape(SIGNS)}"
IN_WORD = rf"[^{NO_WORD}]"
BROKEN_WORD = re.compile(rf"(?<={IN_WORD})-[ \t]*\n\s*(?={IN_WORD})")
# 10-20, 10 to 20, $5-$10, 10 °C to 20 °C; the words of some languages.
TO = r"\s*-+\s*|\s+(?:to|through|bis|\u00e0|a|tot|till?|до)\s+"
RANGE_OF_FIGURES = re.compile(rf"(?:(?<=[\d%‰°$£€])|(?<=°[cf]))(?:{TO})(?=[$£€]?\d)")
TIMES = re.compile(r"(?<=\d)x(?![^\W\d_])")
MINUS_SIGN = re.compile(rf"(?:(?<=[\s{re.escape(SIGNS)}])|^)-(?=\d)", re.MULTILINE)
WITHIN_WORD = re.compile(rf"(?<={IN_WORD})(?:(?<!\d)['.\-]+|['.\-]+(?!\d))(?={IN_WORD})")
MARKS = re.compile(r"-|(?<!\d)[.,:']|[.,:'](?!\d)")
SIGN = re.compile(rf"([{re.escape(SIGNS)}])")
# In scripts without word spaces a line break means nothing: Thai, kana, Han.
LETTER = r"[\u0e00-\u0eff\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff]"
UNSPACED = re.compile(rf"(?<={LETTER}) (?={LETTER})")


class _Signs(dict[int, str]):
    """What each character is written as."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_letter = character.isalnum() or unicodedata.category(character)[0] == "M"
        if character in WITHIN:
            written = "'"
        elif is_letter or character in KEPT:
            written = character
        else:
            written = "-" if character in DASHES else " "
        self[code] = written
        return written


_SIGNS = _Signs()


def written_form(text: str) -> str:
    """Return a text's words, figures and signs, by single spaces, in folded case.

    Punctuation, quotation marks, emphasis, soft hyphens and line breaks are gone. A hyphen, an
    apostrophe or a mark within a word is a joint. Marks within figures stay, but for those between
    thousands, and so do signs; & is "and".
    """
    text = SOFT_HYPHEN.sub("", LEFT_OUT.sub("", text)).translate(PLAIN_SPACES)
    text = plain_figures(text)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = text.replace("i\u0307", "i").replace("\u2044", "/").replace("\r", "\n")
    text = POWER_OF_LETTER.sub("", TIMES.sub(" x ", text.replace("\u00d7", "x")))
    text = text.translate(_SIGNS)
    text = BROKEN_WORD.sub(JOINT, text)
    text = MINUS_SIGN.sub(MINUS, RANGE_OF_FIGURES.sub(RANGE, text))
    text = MARKS.sub(" ", WITHIN_WORD.sub(JOINT, text))
    text = " ".join(SIGN.sub(r" \1 ", text).split()).replace(" & ", " and ")
    return UNSPACED.sub("", text)


def plain_figures(text: str) -> str:
    """Return a text whose figures are apart: 1500 for 1,500, 0.5 for .5, 10^⁶ for 10⁶, 1 ½."""
    text = BARE_POINT.sub("0", BEFORE_POWER.sub("^", BEFORE_FRACTION.sub(" ", text)))
    return THOUSANDS.sub(lambda found: found[1] + re.sub(r"\D", "", found[2]), text)


# What a reader of Markdown or HTML does not see.
NUMBERED = r"\(?(?:\d{1,3}(?:\.\d{1,3}){0,3}|[A-Za-z]|[ivx]{1,5})[.)]"
ITEM = rf"(?:[-*+•‣▪◦\u2013—]|{NUMBERED})[ \t]+(?:\[[ xX]\][ \t]+)?"
LINE_START = re.compile(rf"^[ \t]*(?:>[ \t]*)*(?:\#{{1,6}}[ \t]+|{ITEM})?", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Lines below headings, and between the rows of tables.
RULE = re.compile(r"^[ \t]*[-+=|:][-+=|: \t]+[-+=|:][ \t]*$", re.MULTILINE)
TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")
# Tags that part no words.
INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|nobr|q|s|samp|small|span"
    r"|strike|strong|su[bp]|tt|u|var|wbr)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
POWER_OF_PANDOC = re.compile(r"(?<!\^)\^([^\s^]+)\^(?!\^)")
POWER = re.compile(r"(?<=\d)<sup>(?=[-\u2212]?\d)", re.IGNORECASE)
AUTOLINK = re.compile(r"<((?:[A-Za-z][A-Za-z0-9+.-]*:|[^\s<>@]+@)[^\s<>]+)>")
# Formulas, highlights and ASCII's quotation marks, around words.
AROUND = re.compile(r"\$(?=[^\W\d]|\\)([^$\n]*[^$\s])\$(?!\d)|==(\S[^=\n]*)==|<<([^<>\n]+)>>")
TARGET = r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
PICTURE = re.compile(rf"!\[([^\[\]\n]*)\](?:{TARGET}|\[[^\[\]\n]*\])")
LINK = re.compile(rf"\[([^\[\]]+)\](?:{TARGET}|\[[^\[\]\n]*\])")
WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]")
# Of reStructuredText: :role:`words <target>`, `words <target>`_; lines of labels.
ROLE = re.compile(
    r"(?<![\w:]):[A-Za-z][\w:+.-]*:`([^`<>\n]+?)(?:\s*<[^`<>\n]+>)?`|`([^`<>\n]+?)\s*<[^`<>\n]+>`__?"
)
LABEL_LINE = re.compile(r"^[ \t]*\.\. _[^\n]*$", re.MULTILINE)
FOOTNOTE = re.compile(r"\[\^[^\[\]\s]+\]")
# Notes of an encyclopedia's editors.
EDITORIAL = (
    r"\[(?:(?:(?:better|full|additional|original) )?(?:citation|clarification|verification|source"
    r"|page|date|example)s? needed|sic!?|who\?|whom\?|when\?|where\?|which\?|why\?|how\?"
    r"|(?:according )?(?:to|by) whom\?|dubious(?: [-\u2013] discuss)?|(?:note|nb) \d+)\]"
)
# Numbers of notes and references: [1], [2, 3], and raised ones behind a mark or a longer word.
NOTES = r"\[\d{1,3}(?:\s*[-,;\u2013]\s*\d{1,3})*\]"
MARKED = r"[.,;:!?)\]\"”\u2019»]"
RAISED_NOTE = rf"(?:(?<={MARKED}<sup>)|(?<=[^\W\d_]{{4}}<sup>))\d{{1,3}}"
REFERENCE = re.compile(
    rf"<sup>(?:{NOTES}|{EDITORIAL}|{RAISED_NOTE})</sup>|{NOTES}|{EDITORIAL}"
    rf"|(?:(?<={MARKED})|(?<=[^\W\d_]{{4}})){RAISED}+",
    re.IGNORECASE,
)
ESCAPED = re.compile(r"\\(?=[!-/:-@\[-`{-~])")


def read_forms(text: str, *, is_quotation: bool = False) -> Iterator[str]:
    """Yield a text as it is read, then without pictures, without references as well, and as it is.

    In all but the last its Markdown and HTML are shown. Words of links stay and their addresses go,
    and so do numbers of lists. A quotation keeps these, for it may begin with a day or a year, and
    its references.
    """
    told = text if is_quotation else LINE_START.sub("", LABEL_LINE.sub("", text))
    told = ROLE.sub(r"\1\2", POWER_OF_PANDOC.sub(r"<sup>\1</sup>", RULE.sub("", told)))
    told = COMMENT.sub("", ESCAPED.sub("", html.unescape(told)))
    told = AROUND.sub(r"\1\2\3", AUTOLINK.sub(r"\1", POWER.sub("^", told)))
    yield _shown(told, r"\1")
    yield _shown(told, "")
    yield _shown(told if is_quotation else REFERENCE.sub("", told), "")
    yield text


def _shown(text: str, picture: str) -> str:
    """Return a text without tags, notes and targets of links; of pictures with what is given."""
    text = FOOTNOTE.sub("", TAG.sub(" ", INLINE.sub("", text)))
    return LINK.sub(r"\1", PICTURE.sub(picture, WIKI_LINK.sub(r"\1", text)))


def normalized_words(text: str) -> str:
    """Return the text in Unicode's form NFKC with every run of white space as one space.

    A space between two characters of Chinese, Japanese or Thai goes, and soft hyphens too. Letter
    case stays.
    """
    text = unicodedata.normalize("NFKC", SOFT_HYPHEN.sub("", text))
    return UNSPACED.sub("", " ".join(text.split()))


# What is no scheme before a colon: German words of all genders, Swedish and Finnish endings.
WITH_ENDING = re.compile(
    r"(?:[A-ZÄÖÜ][\w-]*:innen[\w-]*|(?:[A-ZÄÖÜ][\w-]*|\w*e|k?ein):(?:in|e|e?[nrms])"
    r"|[A-ZÄÖÅ]+:"
    r"(?:a|ä|n|s|t|e[nrt]|ss[aä]|st[aä]|ll[aäe]|lt[aä]|ksi|[nt][aä]|h[aeiuyä]n|ii?n|ia))"
)
# A character of a host's label; pictures are taken too.
OF_HOST = r"[\w\u2190-\u2bff\U0001f000-\U0001faff]"
# A scheme, an address of mail, a link's or picture's target, a file, an IPv6 address, a host.
ADDRESS = re.compile(
    r"(?<![\w.-])[a-z][a-z0-9+.-]{0,31}://[^\s<>\"“”`|]+"
    r"|(?P<scheme>(?<![\w.:-])[a-z][a-z0-9+.-]{1,31}:"
    r"[^\s<>\"“”`|:\u2e80-\U0010ffff][^\s<>\"“”`|]*)"
    r"|(?<![\w.-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*"
    r"|(?<=\]\()\s*<?[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*"
    r"|(?<=\]:)\s*<?[^\s<>]+"
    r"|(?<![\w@.-])(?:href|src)\s*=\s*[\"']?[^\s<>\"']+"
    r"|(?<![\w@.:/-])//[^\s<>\"'“”`|/][^\s<>\"'“”`|]*|(?<!\\)\\\\[\w.-]+\\[^\s<>\"“”`|]+"
    r"|(?<![\w.-])[a-z]:[\\/][^\s<>\"“”`|]+"
    r"|(?<![^\s(\[{\"'“\u2018«=,;|`>*_])[~.]{0,2}/(?=[.~-]*\w)[^\s<>\"“”`|]+"
    r"|(?<![\w:])(?=[\da-f]*:[\da-f:]*[a-f])(?=[\da-f:]*::)[\da-f:]+(?![\w:])"
    rf"|(?<![\w@.-])[@$~%+&]*(?:[\w.*${{}}-]{{1,64}}[/\\]){{0,16}}"
    rf"(?:{OF_HOST}(?:(?:{OF_HOST}|-)*{OF_HOST})?\.)+(?:xn--[a-z0-9-]+|[^\W\d_]{{2,}})"
    r"(?![^\W_]|-)(?:[\w-]*(?:\.[\w-]+)*)(?:[:/?#][^\s<>\"“”`|]*)?",
    re.IGNORECASE,
)
ATTRIBUTE = re.compile(r"(?:href|src)\s*=\s*[\"']?", re.IGNORECASE)


# Punctuation behind an address.
BEHIND = ".,;:!?…。'\u2019»”*_]}"


def addresses(text: str) -> list[str]:
    """Return the addresses of a text: of pages, pictures, mail, hosts and files."""
    found = []
    for match in ADDRESS.finditer(text):
        address = ATTRIBUTE.sub("", match.group()).strip().lstrip("<")
        while address and (address[-1] in BEHIND or _is_unopened(address)):
            address = address[:-1]
        is_word = match["scheme"] and (":" not in address or WITH_ENDING.fullmatch(address))
        if address and not is_word:
            found.append(address)
    return found


def _is_unopened(address: str) -> bool:
    """Tell whether an address ends with a bracket that was opened before it."""
    return address.endswith(")") and address.count("(") < address.count(")")


def has_addresses(text: str, passages: Sequence[str]) -> bool:
    """Tell whether each address of a text is in a passage whole, as it is written and as shown."""
    shown = [shown_characters(passage) for passage in passages]
    return all(
        any(stands_whole(address, passage) for passage in told)
        for said, told in ((text, passages), (shown_characters(text), shown))
        for address in addresses(said)
    )


# `code`, ``code``, and what stands behind a mark that nothing closes.
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?:(?<!`)\1(?!`)|$)")
PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc", "'"),
        **dict.fromkeys("“”„", '"'),
    }
)
# What a longer word, option, path or address would go on with.
GOES_ON = r"\w/\\@~+$%&-"


HTML_CODE = re.compile(r"<(code|kbd|pre|samp|tt)\b[^<>]*>(.+?)(?:</\1\s*>|$)", re.I | re.DOTALL)


def code_spans(text: str) -> list[str]:
    """Return what stands between backticks or in HTML's elements of code."""
    found = [match[2].strip() for form in (CODE, HTML_CODE) for match in form.finditer(text)]
    return [span for span in found if span]


# Options of commands, with the places or variables that they are given: -rf /.
OPTION = re.compile(
    r"(?:(?<=[\s(\"'“\u2018*_])|^)(?:--[a-z][\w-]*|-[a-z]{1,3})(?![\w-])(?:\s+[/~*$]\S*)?",
    re.IGNORECASE,
)


def options(text: str) -> list[str]:
    """Return the options of commands that a text names outside of marks of code."""
    return [found.rstrip(BEHIND) for found in OPTION.findall(without_code(text))]


# What Markdown makes bold, or strikes through.
EMPHASIS = re.compile(r"[*~`]+|(?<!\w)_+|_+(?!\w)")
# Dots of hosts and signs of mailboxes, as people disarm them; and dots as browsers take them.
DOT, AT = (
    re.compile(rf"(?i)(?<=\w) ?(?:\[(?:{it})\]|\((?:{it})\)|\{{(?:{it})\}}) ?(?=\w)")
    for it in (r"\.|dot", "@|at")
)
WIDE_DOT = re.compile(r"(?<=[A-Za-z0-9])。(?=[A-Za-z0-9])")


@lru_cache(maxsize=64)
def shown_characters(text: str) -> str:
    """Return a text as it is seen, with plain addresses in it.

    Emphasis, escapes, comments, tags and invisible characters are gone; references of HTML and
    percent-encodings are resolved. Disarmed and wide dots are dots: evil[.]example.
    """
    shown = EMPHASIS.sub("", ESCAPED.sub("", TAG.sub("", COMMENT.sub("", text))))
    shown = LEFT_OUT.sub("", SOFT_HYPHEN.sub("", unquote(html.unescape(shown))))
    shown = AT.sub("@", DOT.sub(".", unicodedata.normalize("NFKC", shown)))
    return WIDE_DOT.sub(".", shown)


def without_code(text: str) -> str:
    """Return a text without what stands between backticks."""
    return CODE.sub(" ", text)


def stands_whole(piece: str, text: str, *, is_code: bool = False) -> bool:
    """Tell whether a text has an address or code as it is, not as a part of a longer one.

    Case counts in code. White space, kinds of dashes and quotation marks do not. Nor does a slash
    at the end of a word or an address.
    """
    sought, told = (normalized_words(each).translate(PLAIN) for each in (piece, text))
    if not is_code:
        sought, told = sought.casefold(), told.casefold()
    last = ""
    if " " not in sought:
        # The same place with a slash at its end, and without.
        sought, last = re.sub(r"(?<=\w)/$", "", sought), "/?"
    goes_on = rf"[{GOES_ON}]" if is_code else rf"[={GOES_ON}]"
    behind = rf"(?!{goes_on}|[.,:;?#]+(?!{LETTER}){goes_on})"
    found = rf"(?<![{GOES_ON}])(?<!\w\.){re.escape(sought)}{last}{behind}"
    return re.search(found, told) is not None
