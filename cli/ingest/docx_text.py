"""The text of a paragraph or a cell of Word, as it is shown."""

from typing import Any

from pgblend.cli.ingest.docx_numbers import Numbers
from pgblend.cli.ingest.office_file import local_name

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
PAGE_BREAK = "\f"
# Properties, deleted text, the former places of moved text, and how signs are pronounced.
_SKIPPED = frozenset(("pPr", "rPr", "del", "moveFrom", "instrText", "delText", "sectPr", "rt"))
_BREAKS = ("br", "cr")
# A few of the fonts of signs show letters: Greek ones of Symbol.
_SYMBOL = dict(
    zip(
        range(0x61, 0x7B),
        "\u03b1\u03b2\u03c7\u03b4\u03b5\u03c6\u03b3\u03b7\u03b9\u03d5\u03ba\u03bb\u03bc\u03bd\u03bf"
        "\u03c0\u03b8\u03c1\u03c3\u03c4\u03c5\u03d6\u03c9\u03be\u03c8\u03b6",
        strict=True,
    )
)


def is_skipped(element: Any) -> bool:
    """Tell what is passed over: properties, deletions, and fallbacks of what stands beside them."""
    name = local_name(element)
    if name == "Fallback":
        return any(local_name(each) == "Choice" for each in element.getparent())
    return not name or name in _SKIPPED


def hidden_styles(styles: Any) -> frozenset[str]:
    """Return the ids of the styles whose text is hidden."""
    own: dict[str, bool] = {}
    bases: dict[str, str] = {}
    for style in () if styles is None else styles.iter(f"{W}style"):
        name, sign = style.get(f"{W}styleId", ""), style.find(f"{W}rPr/{W}vanish")
        based_on = style.find(f"{W}basedOn")
        if sign is not None:
            own[name] = _is_on(sign)
        elif based_on is not None:
            bases[name] = based_on.get(f"{W}val", "")
    for name in bases:
        base, seen = name, {""}
        while base in bases and base not in seen:
            seen.add(base)
            base = bases[base]
        own.setdefault(name, own.get(base, False))
    return frozenset(name for name, is_hidden in own.items() if is_hidden)


def drop_hidden(root: Any, styles: frozenset[str]) -> bool:
    """Take hidden text out of a part, and tell whether there was any; `styles` hide theirs."""
    found = False
    for run in root.iter(f"{W}r"):
        sign = run.find(f"{W}rPr/{W}vanish")
        if not (_is_on(sign) if sign is not None else styles and _has_style(run, styles)):
            continue
        for text in run.findall(f"{W}t"):
            found = found or bool((text.text or "").strip())
            run.remove(text)
    return found


def _is_on(sign: Any) -> bool:
    return sign.get(f"{W}val", "1") not in ("0", "false", "off")


def _has_style(run: Any, styles: frozenset[str]) -> bool:
    paragraph = next(run.iterancestors(f"{W}p"), None)
    stated = [run.find(f"{W}rPr/{W}rStyle")]
    if paragraph is not None:
        stated.append(paragraph.find(f"{W}pPr/{W}pStyle"))
    return any(each is not None and each.get(f"{W}val") in styles for each in stated)


def text_of(element: Any, numbers: Numbers | None = None) -> tuple[str, list[Any]]:
    """Return the text below an element, with PAGE_BREAK for each page break, and its text boxes.

    With `numbers` the paragraphs within get those that Word makes.
    """
    parts: list[str] = []
    boxes: list[Any] = []
    _collect(element, parts, boxes, numbers)
    return "".join(parts), boxes


def _collect(element: Any, parts: list[str], boxes: list[Any], numbers: Numbers | None) -> None:
    for child in element:
        if is_skipped(child) or child.find(f"{W}tcPr/{W}cellDel") is not None:
            continue
        name = local_name(child)
        if name == "txbxContent":
            boxes.append(child)
        elif len(child) and name != "ffData":
            if name == "p" and numbers is not None:
                number = numbers.next(child.find(f"{W}pPr"))
                parts.append(f"{number} " if number else "")
            _collect(child, parts, boxes, numbers)
            if name in ("p", "tc"):
                parts.append("\n")
        else:
            parts.append(_shown(child, name))


def _shown(element: Any, name: str) -> str:
    """Return what an element without others shows."""
    if name == "t":
        return str(element.text or "")
    if name in ("tab", "ptab"):
        return "\t"
    if name == "lastRenderedPageBreak":
        return PAGE_BREAK
    if name in _BREAKS:
        return PAGE_BREAK if element.get(f"{W}type") == "page" else "\n"
    if name == "noBreakHyphen":
        return "-"
    if name == "textpath":  # letters drawn along a path
        return str(element.get("string", ""))
    if name == "sym":
        code = element.get(f"{W}char", "")
        is_hex = len(code) == 4 and all(each in "0123456789ABCDEFabcdef" for each in code)
        letter = int(code, 16) & 0xFF if is_hex else 0
        return _SYMBOL.get(letter, "") if element.get(f"{W}font") == "Symbol" else ""
    if name in ("p", "tc"):
        return "\n"
    return _chosen(element) if name == "ffData" else ""


def _chosen(field: Any) -> str:
    """Return what a form's list shows; its other fields have their text beside them."""
    for choices in field.iter(f"{W}ddList"):
        entries = [each.get(f"{W}val", "") for each in choices.iter(f"{W}listEntry")]
        result = choices.find(f"{W}result")
        default = choices.find(f"{W}default")
        stated = result if result is not None else default
        index = stated.get(f"{W}val", "0") if stated is not None else "0"
        if index.isdecimal() and int(index) < len(entries):
            return str(entries[int(index)])
    return ""
