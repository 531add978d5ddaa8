"""Formulas in one line, as people type them: (a+b)/c, x^2, √(y); what stands above a line: 10⁶.

They come as MathML from pages, books and OpenDocument, as OMML from files of Office.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

_SINGLE = re.compile(r"[\w.,\u0300-\u036f']*|[([{|].*[)\]}|]", re.DOTALL)
_UNSEEN = frozenset(("annotation", "annotation-xml", "mphantom", "phant", "del", "moveFrom"))
_LETTERS = frozenset(("mi", "mn", "mo", "mtext", "ms", "t"))
# What stands between the parts of a matrix, of its rows, and of a function and its argument.
_BETWEEN = {"mtable": "; ", "m": "; ", "eqArr": "; "}
_BETWEEN |= {"mtr": ", ", "mlabeledtr": ", ", "mr": ", ", "func": " "}
# Of OMML: the parts of an element by the names of its children, in the order of MathML.
_PARTS = {
    "f": ("num", "den"),
    "sSup": ("e", "sup"),
    "sSub": ("e", "sub"),
    "sSubSup": ("e", "sub", "sup"),
    "limLow": ("e", "lim"),
    "limUpp": ("e", "lim"),
    "rad": ("e", "deg"),
    "sPre": ("e", "sub", "sup"),
}
_KINDS = {
    "f": "mfrac",
    "sSup": "msup",
    "sSub": "msub",
    "sSubSup": "msubsup",
    "limLow": "munder",
    "limUpp": "mover",
    "rad": "mroot",
    "sPre": "msubsup",
}
_MARKS = {
    "msup": "^",
    "msub": "_",
    "munder": "_",
    "mover": "^",
    "msubsup": "_^",
    "munderover": "_^",
}
# Signs that only say what stands side by side: a function's argument, a product.
_INVISIBLE = {0x2061: None, 0x2062: " ", 0x2063: " ", 0x2064: None}
# They are of what follows.
_LARGE = frozenset("\u2211\u220f\u2210\u222b\u222c\u222d\u222e\u22c2\u22c3")
_INTEGRAL = "\u222b"
_DEEPEST = 200


def formula_text(element: Any) -> str:
    """Return a formula, an element of MathML or OMML, in one line."""
    return " ".join(_text(element, 0).split())


def _text(element: Any, depth: int) -> str:
    name = _name(element)
    if name in _UNSEEN or name.endswith("Pr") or depth > _DEEPEST:
        return ""
    if name in _LETTERS:
        return " ".join((element.text or "").split()).translate(_INVISIBLE)
    if name in _PARTS:
        return _written(_KINDS[name], list(_named(element, _PARTS[name], depth)))
    if name in _MARKS or name in ("mfrac", "mroot"):
        return _written(name, [_text(child, depth + 1) for child in _elements(element)])
    if name == "nary":
        return _nary(element, depth)
    return _composed(element, name, [_text(child, depth + 1) for child in _elements(element)])


def _composed(element: Any, name: str, inner: list[str]) -> str:
    """Write an element that has any number of parts."""
    if name in _BETWEEN:
        return _BETWEEN[name].join(filter(None, inner))
    if name == "msqrt":
        return f"\u221a{_grouped(''.join(inner))}"
    if name in ("d", "mfenced"):
        return _fenced(element, name, [text for text in inner if text])
    if name == "acc":
        return unicodedata.normalize("NFC", "".join(inner) + _sign(element, "accPr", "\u0302"))
    return " " if name == "mspace" else "".join(inner)


def _written(kind: str, parts: list[str]) -> str:
    """Write a fraction, a root, or what has something above or below it."""
    base, *others = [*parts, "", ""][: max(len(parts), 2)]
    if kind == "mfrac":
        return f"{_grouped(base)}/{_grouped(others[0])}"
    if kind == "mroot":
        return f"{others[0]}\u221a{_grouped(base)}"
    marks = _MARKS[kind]
    if kind == "mover" and len(others[0]) == 1 and not others[0].isalnum():
        return base + others[0]  # an accent
    said = (f"{mark}{_grouped(text)}" for mark, text in zip(marks, others, strict=False) if text)
    return base + "".join(said) + " " * (base in _LARGE)


def _grouped(text: str) -> str:
    text = text.strip()
    return text if _SINGLE.fullmatch(text) else f"({text})"


def _fenced(element: Any, name: str, inner: list[str]) -> str:
    if name == "mfenced":
        signs = element.get("open", "("), element.get("close", ")")
        return f"{signs[0]}{', '.join(inner)}{signs[1]}"
    start, end = (
        _sign(element, "dPr", usual, key) for key, usual in (("begChr", "("), ("endChr", ")"))
    )
    return f"{start}{_sign(element, 'dPr', '|', 'sepChr').join(inner)}{end}"


def _nary(element: Any, depth: int) -> str:
    below, above, body = _named(element, ("sub", "sup", "e"), depth)
    sign = _sign(element, "naryPr", _INTEGRAL)
    return f"{_written('msubsup', [sign, below, above]).strip()} {body}"


def _sign(element: Any, properties: str, usual: str, key: str = "chr") -> str:
    """Return a sign that the properties of an element of OMML name."""
    for child in element:
        if _name(child) == properties:
            for each in child:
                if _name(each) == key:
                    return next((v for k, v in each.items() if k.endswith("val")), usual)
    return usual


def _named(element: Any, names: tuple[str, ...], depth: int) -> Iterator[str]:
    found = {_name(child): child for child in element}
    for name in names:
        yield _text(found[name], depth + 1) if name in found else ""


def _elements(element: Any) -> list[Any]:
    return [child for child in element if isinstance(child.tag, str)]


def _name(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2] if isinstance(tag, str) else ""


# Word's fields EQ, of old: \\f(1,2) is 1/2, and \\o(\\s\\up 9(reading),sign) how a sign is read.
_EQ_SETTING = re.compile(r'^\s*EQ\b|\\\*\s*(?:"[^"]*"|[\w-]+)', re.IGNORECASE)
_EQ_PART = re.compile(r"\\([a-z]+)((?:\s*\\[a-z]+(?:\s*\d+)?)*)\s*\(([^()]*)\)", re.IGNORECASE)
_EQ_ABOVE = "\0"  # before what stands above its line
# Signs of what is written already.
_EQ_KEPT = str.maketrans("(),;", "\1\2\3\4")
_EQ_RETURNED = str.maketrans("\1\2\3\4", "(),;")
_MOST_PARTS = 100
_LONGEST_EQ = 2000  # each part is looked for from the beginning


def field_formula(instruction: str) -> str:
    """Return what a field EQ of Word shows, from its innermost part on; readings are left out."""
    text = _EQ_SETTING.sub("", instruction[:_LONGEST_EQ])
    for _ in range(_MOST_PARTS):
        if not (part := _EQ_PART.search(text)):
            break
        text = text[: part.start()] + _eq_part(part).translate(_EQ_KEPT) + text[part.end() :]
    before, *above = text.translate(_EQ_RETURNED).split(_EQ_ABOVE)
    return " ".join("".join([before, *map(raised, above)]).split())


def _eq_part(part: re.Match[str]) -> str:
    kind, options = part[1].lower(), part[2].lower()
    values = [value.strip() for value in re.split("[,;]", part[3])]
    if kind == "f":
        return "/".join(map(_grouped, values))
    if kind == "r":
        return f"{''.join(values[:-1])}\u221a{_grouped(values[-1])}"
    if kind == "s" and "up" in options:
        return _EQ_ABOVE + "".join(values)
    if kind == "o":
        return "".join(value for value in values if not value.startswith(_EQ_ABOVE))
    return f"({', '.join(values)})" if kind == "b" else " ".join(values)


# Exponents and the numbers of notes: 10⁶ is not 106, and Berlin¹ is no name with a number.
_RAISED = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_FIGURE = r"0-9+\-\u2212\u2013,;"
_FIGURES = rf"[{_FIGURE}][{_FIGURE}\s]*"  # blanks before it are parted in one way alone
_ONLY_FIGURES = re.compile(rf"\s*{_FIGURES}")
_RAISED_TAG = re.compile(rf"(<sup\b[^<>]*>\s*(?:<a\b[^<>]*>\s*)?)({_FIGURES})(?=</)", re.IGNORECASE)


def raised(text: str) -> str:
    """Return figures that are set above the line as Unicode has them, other words as they are."""
    return text.translate(_RAISED) if _ONLY_FIGURES.fullmatch(text) else text


def with_raised(markup: str) -> str:
    """Return HTML whose figures within <sup> are raised ones."""
    return _RAISED_TAG.sub(lambda found: found[1] + raised(found[2]), markup)


# How signs are pronounced, of HTML; brackets are for browsers that show it within the line.
_READING = re.compile(
    r"<rp>[^<]{0,9}</rp>|<rt\b[^<>]*>(.{0,500}?)(?:</rt>|(?=</ruby>))", re.IGNORECASE | re.DOTALL
)


def with_readings_last(markup: str) -> str:
    """Return HTML with the readings of a line at its end: they would cut the words below them."""
    if "<rt" not in markup:
        return markup
    lines = ((_READING.sub("", line), _READING.findall(line)) for line in markup.split("\n"))
    said = ((line, ", ".join(filter(None, found))) for line, found in lines)
    return "\n".join(f"{line} ({readings})" if readings else line for line, readings in said)
