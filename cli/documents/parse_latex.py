"""LaTeX: the text with its headings; macros are no words, formulas are as they are written."""

import re
import unicodedata

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import Document
from pgblend.cli.documents.light_markup import LineText

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
_HEADING = re.compile(rf"\\({'|'.join(_LEVELS)})\*?\s*(?:\[[^\]]*\])?\s*{_BRACED}")
_ABOUT = re.compile(rf"\\(title|author|date|subtitle)\s*(?:\[[^\]]*\])?\s*{_BRACED}", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_VERBATIM = re.compile(
    r"\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|comment|filecontents\*?)\}.*?\\end\{\1\}",
    re.DOTALL,
)
_UNSEEN_BLOCKS = frozenset(("comment", "filecontents", "filecontents*"))
# Commands whose argument is no text: names of places, files, sizes.
_SILENT = re.compile(
    r"\\(?:label|bibitem|(?:no)?cite\w*|[a-z]*cite[a-z]*|ref|eqref|pageref|[cC]ref|autoref|nameref|index"
    r"|input|include|subfile|includestandalone|lstinputlisting|verbatiminput|includegraphics|bibliography|bibliographystyle|usepackage|documentclass"
    r"|hspace|vspace|pagestyle|thispagestyle|setlength|setcounter|addtocounter|RequirePackage"
    r"|(?:re)?newcommand|(?:re)?newenvironment|def|let|DeclareMathOperator|newtheorem|color"
    r"|definecolor|hypersetup|graphicspath|pagenumbering|addbibresource|textcolor|fontsize"
    r"|(?:sub)?import\*?\{[^{}]*\}|inputminted(?:\[[^\]]*\])?\{[^{}]*\}|selectlanguage|vskip|hskip|cline|cmidrule|multicolumn\{\d+\}|multirow\{\d+\})"
    r"\*?\s*(?:\[[^\]]*\]\s*)*\{[^{}]*\}(?:\[[^\]]*\])*"
)
# Files that stand here when the text is set; those of macros have no text.
_INCLUDED = re.compile(
    r"\\(?:input|include|subfile|includestandalone|lstinputlisting|verbatiminput"
    r"|inputminted(?:\[[^\]]*\])?\{[^{}]*\}|(?:sub)?import\*?\s*\{([^{}]*)\})"
    r"\s*(?:\[[^\]]*\])?\s*\{([^{}]+)\}"
)
_ENVIRONMENT = re.compile(
    r"\\begin\{(?:tabular\*?|tabularx|array|longtable|minipage|multicols|thebibliography"
    r"|wrapfigure|adjustbox)\}\s*(?:\[[^\]]*\]|\{[^{}]*\}){0,3}"
    r"|\\(?:begin|end)\{[^{}]*\}(?:\[[^\]]*\])?"
)
_LINK = re.compile(r"\\href\s*\{[^{}]*\}\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306",
    ".": "\u0307", '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "c": "\u0327",
    "k": "\u0328",
}  # fmt: skip
_ACCENT = re.compile(
    r"\\([`'^~=.\"])\s*(?:\{\s*(\\?[A-Za-z])\s*\}|(\\?[A-Za-z]))"
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
    "item": "- ", "quad": " ", "qquad": " ", "par": "", "degree": "\u00b0",
}  # fmt: skip
_FRACTION = re.compile(r"\\d?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?[ \t]*(?:\[[^\]\n]*\](?=\s*\{))?")
_ESCAPED = re.compile(r"\\([%&$#_{}])")
_KEPT = str.maketrans("%&$#_{}", "\ue000\ue001\ue002\ue003\ue004\ue005\ue006")
_RETURNED = {0xE000 + place: letter for place, letter in enumerate("%&$#_{}")}


def parse_latex(data: bytes) -> Document:
    """Read a .tex file; what stands before its document is not shown, but for the title."""
    source = decode(data)
    text = LineText()
    body, before = _body(source)
    for name, said in _ABOUT.findall(_COMMENT.sub(r"\1", source)):
        text.metadata.setdefault(name, " ".join(_plain(said).split()))
    text.lines += [""] * (before + 1)
    place = 0
    for match in _VERBATIM.finditer(body):
        _add_prose(text, body[place : match.start()])
        inner = match.group()
        is_unseen = match.group(1) in _UNSEEN_BLOCKS
        lines = inner.split("\n")
        said = [""] * len(lines) if is_unseen else ["", *lines[1:-1], ""][: len(lines)]
        _continue(text, said)
        place = match.end()
    _add_prose(text, body[place:])
    for folder, name in _INCLUDED.findall(_COMMENT.sub(r"\1", body)):
        text.tell_file(f"{folder}{name}".strip())
    return text.document()


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
    source = _COMMENT.sub(r"\1", source)
    source = _SILENT.sub(_line_ends, source)
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
    text = _LINK.sub(r"\1", text)
    text = _ACCENT.sub(_accented, text)
    text = _FRACTION.sub(r"(\1)/(\2)", text)
    text = text.replace("\\\\", " ").replace("~", "\u00a0")
    text = _COMMAND.sub(_command, text)
    text = re.sub(r"\\[,;:!> ()\[\]]", " ", text)
    text = text.replace("---", "\u2014").replace("--", "\u2013")
    text = text.replace("``", "\u201c").replace("''", "\u201d").replace("&", " | ")
    text = text.translate(dict.fromkeys(map(ord, "{}$")))
    return text.translate(_RETURNED)


def _accented(match: re.Match[str]) -> str:
    accent = match[1] or match[4]
    letter = (match[2] or match[3] or match[5]).lstrip("\\")
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


def _line_ends(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")
