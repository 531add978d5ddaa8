"""Word: headings, lists, tables, drawings and notes, by the pages that the file records."""

import re
from typing import Any

from pgblend.cli.documents.decode import decode, is_binary
from pgblend.cli.documents.document import (
    FILE_WITHIN,
    NOT_SHOWN,
    SAVE_IT,
    Document,
    ParseError,
    stated_title,
    storable_text,
    storable_value,
    top_heading,
)
from pgblend.cli.documents.drawing_text import add_drawings, described, description, is_hidden
from pgblend.cli.documents.formula import field_formula, formula_text, raised
from pgblend.cli.documents.list_numbers import BULLET, ListNumbers
from pgblend.cli.documents.office_file import Package, local_name, open_package
from pgblend.cli.documents.office_xml import ONE_XML, as_archive
from pgblend.cli.documents.parse_html import parse_page
from pgblend.cli.documents.parse_markup import parse_rtf
from pgblend.cli.documents.parse_mht import parse_mht
from pgblend.cli.documents.text_builder import (
    TableRows,
    TextBuilder,
    cell_text,
    row_text,
    with_captions,
)

# The text of a paragraph or a cell of Word, as it is shown.

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
PAGE_BREAK = "\f"
# Properties, deleted text, the former places of moved text, and how signs are pronounced.
_SKIPPED = frozenset(("pPr", "rPr", "del", "moveFrom", "instrText", "delText", "sectPr", "rt"))
_BREAKS = ("br", "cr")
# A few of the fonts of signs show letters, Greek ones of Symbol, or boxes that people tick.
_SYMBOL = dict(
    zip(
        range(0x61, 0x7B),
        "\u03b1\u03b2\u03c7\u03b4\u03b5\u03c6\u03b3\u03b7\u03b9\u03d5\u03ba\u03bb\u03bc\u03bd\u03bf"
        "\u03c0\u03b8\u03c1\u03c3\u03c4\u03c5\u03d6\u03c9\u03be\u03c8\u03b6",
        strict=True,
    )
)

_TICKS = {0x6F: "\u2610", 0xA8: "\u2610", 0xFD: "\u2612", 0xFE: "\u2611"}
_TICKS |= {0xFB: "\u2717", 0xFC: "\u2713", 0xE0: "\u2192"}
_SIGNS = {"Symbol": _SYMBOL, "Wingdings": _TICKS}


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


def drop_instructions(root: Any) -> None:
    """Take out what stands within a field before its result: fields that it is made from."""
    open_fields: list[list[Any] | None] = []
    for element in list(root.iter(f"{W}fldChar", f"{W}t")):
        kind = element.get(f"{W}fldCharType")
        if kind == "begin":
            open_fields.append([])
        elif kind is None:
            instruction = next((each for each in open_fields if each is not None), None)
            if instruction is not None:
                instruction.append(element)
        elif open_fields:
            for text in open_fields.pop() or ():
                text.text = ""
            if kind == "separate":
                open_fields.append(None)


def write_equations(root: Any) -> None:
    """Write what fields EQ show after their end, where their instruction is all that they have."""
    open_fields: list[tuple[list[str], list[str]]] = []
    for element in list(root.iter(f"{W}fldChar", f"{W}instrText", f"{W}t")):
        kind = element.get(f"{W}fldCharType")
        if kind == "begin":
            open_fields.append(([], []))
        elif kind is None and open_fields:
            open_fields[-1][local_name(element) == "t"].append(element.text or "")
        elif kind == "end" and open_fields:
            instruction, result = map("".join, open_fields.pop())
            if instruction.split()[:1] == ["EQ"] and not result.strip():
                text = element.makeelement(f"{W}t")
                text.text = field_formula(instruction)
                element.addnext(text)


def _is_on(sign: Any) -> bool:
    return sign.get(f"{W}val", "1") not in ("0", "false", "off")


def _has_style(run: Any, styles: frozenset[str]) -> bool:
    paragraph = next(run.iterancestors(f"{W}p"), None)
    stated = [run.find(f"{W}rPr/{W}rStyle")]
    if paragraph is not None:
        stated.append(paragraph.find(f"{W}pPr/{W}pStyle"))
    return any(each is not None and each.get(f"{W}val") in styles for each in stated)


def text_of(element: Any, numbers: ListNumbers | None = None) -> tuple[str, list[Any]]:
    """Return the text below an element, with PAGE_BREAK for each page break, and its text boxes.

    With `numbers` the paragraphs within get those that Word makes.
    """
    parts: list[str] = []
    boxes: list[Any] = []
    _collect(element, parts, boxes, numbers)
    return "".join(parts), boxes


def _collect(element: Any, parts: list[str], boxes: list[Any], numbers: ListNumbers | None) -> None:
    for child in element:
        if is_skipped(child) or child.find(f"{W}tcPr/{W}cellDel") is not None:
            continue
        name = local_name(child)
        if name == "txbxContent":
            boxes.append(child)
        elif name == "oMath":
            parts.append(formula_text(child))
        elif name == "docPr":
            parts += _spaced("" if is_hidden(child) else description(child), parts)
        elif len(child) and name != "ffData":
            if name == "p" and numbers is not None:
                number = numbers.next(child.find(f"{W}pPr"))
                parts.append(f"{number} " if number else "")
            if child.get("alt"):  # of an old drawing
                parts += _spaced(described(child.get("alt")), parts)
            _collect(child, parts, boxes, numbers)
            if name in ("p", "tc"):
                parts.append("\n")
        else:
            parts.append(_shown(child, name))


def _spaced(text: str, parts: list[str]) -> list[str]:
    """Return a text with a space around it, where none stands before it."""
    gap = "" if not parts or parts[-1][-1:].isspace() else " "
    return [f"{gap}{text} "] if text else []


def _shown(element: Any, name: str) -> str:
    """Return what an element without others shows."""
    if name == "t":
        text = str(element.text or "")
        return raised(text) if _is_raised(element) else text
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
        return _SIGNS.get(element.get(f"{W}font", ""), {}).get(letter, "")
    if name in ("p", "tc"):
        return "\n"
    return _chosen(element) if name == "ffData" else ""


def _is_raised(text: Any) -> bool:
    place = text.getparent().find(f"{W}rPr/{W}vertAlign")
    return place is not None and place.get(f"{W}val") == "superscript"


def _chosen(field: Any) -> str:
    """Return what a form's list or box shows; its other fields have their text beside them."""
    for box in field.iter(f"{W}checkBox"):
        checked, default = box.find(f"{W}checked"), box.find(f"{W}default")
        stated = checked if checked is not None else default
        return "\u2612" if stated is not None and _is_on(stated) else "\u2610"
    for choices in field.iter(f"{W}ddList"):
        entries = [each.get(f"{W}val", "") for each in choices.iter(f"{W}listEntry")]
        result = choices.find(f"{W}result")
        default = choices.find(f"{W}default")
        stated = result if result is not None else default
        index = stated.get(f"{W}val", "0") if stated is not None else "0"
        if index.isdecimal() and int(index) < len(entries):
            return str(entries[int(index)])
    return ""


_BLIP = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MAIN = "word/document.xml"
_HEAD_BYTES = 4096
_NOTES = ("footnotes", "endnotes", "comments")
_HEADING_NAME = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_SHOW_IT = "take the mark Hidden from it in Word's fonts if it is to be found"
_LETTER = re.compile(r"[^\W\d_]{2}")


def parse_docx(data: bytes) -> Document:
    """Read a file of Word; pages are those of its last layout, none where it does not tell."""
    if not data.startswith(b"PK") and ONE_XML.search(data[:_HEAD_BYTES]):
        data = as_archive(data)
    with open_package(data, _MAIN) as package:
        main = package.main(_MAIN)
        root = package.xml(main)
        body = None if root is None else root.find(f"{W}body")
        if body is None:
            raise ParseError(f"no readable file of Word: {main!r} has no body")
        styles = _part(package, main, "styles")
        reader = _WordReader(package, main, {} if styles is None else _heading_levels(styles))
        reader.numbers = ListNumbers(_part(package, main, "numbering"), styles)
        reader.hidden = hidden_styles(styles)
        reader.drop_unseen(root)
        reader.read_blocks(body)
        for kind in _NOTES:
            for note in package.related(main, kind):
                reader.read_part(note.part)
        reader.read_running(main)
        has_one_page = _has_one_page(package)
        builder = reader.builder
        properties = package.properties()
    text = builder.text()
    title = reader.title or top_heading(builder.headings)
    return Document(
        title=title or stated_title(properties.pop("title", "")),
        text=text,
        metadata=storable_value({key: properties[key] for key in properties if key != "title"}),
        headings=tuple(builder.headings),
        tables=with_captions(builder.tables, text, builder.headings),
        pictures=tuple(builder.pictures),
        places=tuple(builder.places) if reader.page > 1 or has_one_page else (),
        left_out=(*package.left_out, *builder.left_out),
    )


class _WordReader:
    """Writes the paragraphs and tables of a file of Word in order."""

    def __init__(self, package: Package, part: str, levels: dict[str, int]) -> None:
        self._package = package
        self._part = part
        self.builder = TextBuilder()
        self.numbers = ListNumbers(None, None)
        self.hidden: frozenset[str] = frozenset()
        self.title = ""
        self.page = 1
        self._levels = levels
        self._text_on_page = False
        self._joined = ""
        self.builder.start_page(1)

    def read_part(self, part: str) -> None:
        """Read another part of the package: notes, comments."""
        root = self._package.xml(part)
        if root is not None:
            self.drop_unseen(root)
            before, self._part = self._part, part
            self.read_blocks(root, paged=False)
            self._part = before

    def drop_unseen(self, root: Any) -> None:
        """Take out what a reader does not see; that there is hidden text is told."""
        drop_instructions(root)
        write_equations(root)
        if drop_hidden(root, self.hidden):
            self._package.leave_out("hidden text", NOT_SHOWN, _SHOW_IT)

    def read_running(self, main: str) -> None:
        """Read the heads and feet of pages, each of their lines once; mere numbers are left out."""
        seen: set[str] = set()
        for kind in ("header", "footer"):
            for relation in self._package.related(main, kind):
                own = _WordReader(self._package, relation.part, {})
                own.hidden = self.hidden
                own.read_part(relation.part)
                for line in own.builder.text().split("\n"):
                    words = " ".join(line.split())
                    if _LETTER.search(words) and words not in seen:
                        seen.add(words)
                        self.builder.add(words)

    def read_blocks(self, parent: Any, paged: bool = True) -> None:
        """Read the blocks below an element; those in content controls as well."""
        for block in parent:
            name = local_name(block)
            if name == "p":
                self._read_paragraph(block, paged)
            elif name == "tbl":
                self._read_table(block)
            elif not is_skipped(block) and len(block):
                self.read_blocks(block, paged)
            elif name == "altChunk":
                self._read_import(block)

    def _read_import(self, chunk: Any) -> None:
        """Read a page or a text that was put in as a whole; other files are told."""
        relation = self._package.relations(self._part).get(chunk.get(f"{_R}id", ""))
        data = self._package.read(relation.part) if relation is not None else None
        if relation is None or not data:
            return
        try:
            found = _imported(data)
        except ParseError as error:
            self._package.leave_out(relation.part, str(error), SAVE_IT)
            return
        if found is None:
            self._package.leave_out(relation.part, FILE_WITHIN, SAVE_IT)
            return
        self.builder.add_read(found.text, found.headings, found.tables)
        self._text_on_page = True

    def _read_paragraph(self, paragraph: Any, paged: bool) -> None:
        properties = paragraph.find(f"{W}pPr")
        level, is_title = self._level(properties)
        text, boxes = text_of(paragraph)
        text, self._joined = self._joined + text, ""
        if properties is not None and properties.find(f"{W}rPr/{W}del") is not None:
            self._joined = text  # its end was deleted: it goes on in the next paragraph
            return
        pieces = text.split(PAGE_BREAK)
        number = self.numbers.next(properties)
        if level:
            heading = " ".join(pieces)
            self._write(_numbered(number, heading) if number != BULLET else heading, level)
            self._turn_pages(len(pieces) - 1 if paged else 0, bool(pieces[-1].strip()))
        else:
            for place, piece in enumerate(pieces):
                if place and paged:
                    self._turn_pages(1, False)
                if piece.strip():
                    self._write(_numbered(number, piece.strip()), 0)
                    number = None
        self._read_drawings(paragraph, boxes)
        if is_title and not self.title:
            self.title = storable_text(" ".join(" ".join(pieces).split()))
        if paged and properties is not None and _ends_section(properties):
            self._turn_pages(1, False)

    def _read_table(self, table: Any) -> None:
        first = True
        rows = TableRows()
        all_boxes: list[Any] = []
        for row in table.iter(f"{W}tr"):
            if next(row.iterancestors(f"{W}tbl")) is not table or _is_deleted(row):
                continue  # a row of a table within a cell: its text is the cell's
            cells = []
            for cell in row.iter(f"{W}tc"):
                if next(cell.iterancestors(f"{W}tr")) is row:
                    text, boxes = text_of(cell, self.numbers)
                    cells.append(text)
                    all_boxes += boxes
            self._turn_pages(min(sum(cell.count(PAGE_BREAK) for cell in cells), 1), False)
            cells = [cell_text(cell.replace(PAGE_BREAK, " ")) for cell in cells]
            line = row_text(cells)
            if line.strip():
                offset = self.builder.add(line, "\n\n" if first else "\n")
                is_header = row.find(f"{W}trPr/{W}tblHeader") is not None
                rows.add(offset, cells, is_header)
                self._text_on_page, first = True, False
            self._add_pictures(row)
        self.builder.add_table(rows)
        self._read_drawings(table, all_boxes, pictures=False)

    def _read_drawings(self, element: Any, boxes: list[Any], pictures: bool = True) -> None:
        """Read what an element shows beside its text: text boxes, pictures, charts."""
        for box in boxes:
            self.read_blocks(box, paged=False)
        if pictures:
            self._add_pictures(element)
        add_drawings(self.builder, self._package, self._part, element)

    def _add_pictures(self, element: Any) -> None:
        relations = self._package.relations(self._part)
        for blip in element.iter(_BLIP):
            relation = relations.get(blip.get(f"{_R}embed", ""))
            if relation is not None and (data := self._package.read(relation.part)):
                self.builder.add_picture(data)

    def _write(self, text: str, level: int) -> None:
        if not text.strip():
            return
        if level:
            self.builder.add_heading(text, level)
        else:
            self.builder.add(text.strip())
        self._text_on_page = True

    def _turn_pages(self, count: int, text_follows: bool) -> None:
        """Begin new pages; a break right after another is the same one, recorded twice."""
        if count and self._text_on_page:
            self.page += 1
            self.builder.start_page(self.page)
            self._text_on_page = text_follows

    def _level(self, properties: Any) -> tuple[int, bool]:
        """Tell a paragraph's heading level, 0 for none, and whether it is the title."""
        if properties is None:
            return 0, False
        outline = properties.find(f"{W}outlineLvl")
        if outline is not None:
            return _outline_level(outline), False
        style = properties.find(f"{W}pStyle")
        level = self._levels.get(style.get(f"{W}val", ""), 0) if style is not None else 0
        return abs(level), level < 0


def _imported(data: bytes) -> Document | None:
    """Read what Word puts in as it is, by how it begins; None of an archive or of other bytes."""
    if data.startswith(b"{\\rtf"):
        return parse_rtf(data)
    if data[:_HEAD_BYTES].lower().startswith(b"mime-version:"):
        return parse_mht(data)
    if is_binary(data[:_HEAD_BYTES]):
        return None
    if b"<" not in data[:_HEAD_BYTES]:
        return Document(text=decode(data))
    page = parse_page(decode(data, html=True))
    return Document(text=page.text, headings=page.headings, tables=page.tables)


def _part(package: Package, main: str, kind: str) -> Any:
    return next((package.xml(each.part) for each in package.related(main, kind)), None)


def _numbered(number: str | None, text: str) -> str:
    """Write the sign of a list, or the number that Word makes, before what is not empty."""
    return f"{number} {text}" if number and text.strip() else text


def _heading_levels(styles: Any) -> dict[str, int]:
    """Map the ids of heading styles to their level, and that of the title to -1."""
    levels: dict[str, int] = {}
    bases: dict[str, str] = {}
    for style in styles.iter(f"{W}style"):
        style_id = style.get(f"{W}styleId", "")
        name = style.find(f"{W}name")
        match = _HEADING_NAME.match(name.get(f"{W}val", "")) if name is not None else None
        outline = style.find(f"{W}pPr/{W}outlineLvl")
        based_on = style.find(f"{W}basedOn")
        if match:
            levels[style_id] = int(match.group(1))
        elif name is not None and name.get(f"{W}val", "").lower() == "title":
            levels[style_id] = -1
        elif outline is not None:
            levels[style_id] = _outline_level(outline)
        elif based_on is not None:
            bases[style_id] = based_on.get(f"{W}val", "")
    for style_id, base in bases.items():
        seen = {style_id}
        while base in bases and base not in seen:
            seen.add(base)
            base = bases[base]
        if base in levels:
            levels[style_id] = levels[base]
    return levels


def _outline_level(element: Any) -> int:
    """Return a heading level from 1; level 10 of the file (9) is body text."""
    value = element.get(f"{W}val", "9")
    return int(value) + 1 if value in "012345678" and value else 0


def _ends_section(properties: Any) -> bool:
    """Whether a paragraph ends a section whose successor begins on a new page."""
    section = properties.find(f"{W}sectPr")
    if section is None:
        return False
    kind = section.find(f"{W}type")
    return kind is None or kind.get(f"{W}val") != "continuous"


def _is_deleted(row: Any) -> bool:
    """Whether a row of a table is deleted, and so no text any more."""
    return row.find(f"{W}trPr/{W}del") is not None


def _has_one_page(package: Package) -> bool:
    """Whether the file says that it has a single page."""
    for relation in package.related("", "extended-properties"):
        root = package.xml(relation.part)
        items = () if root is None else root
        return any(local_name(item) == "Pages" and item.text == "1" for item in items)
    return False
