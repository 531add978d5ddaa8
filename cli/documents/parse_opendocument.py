"""OpenDocument texts, slides and drawings: what they show, with comments, notes and charts."""

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pgblend.cli.documents.document import (
    NOT_SHOWN,
    SAVE_IT,
    Document,
    ParseError,
    stated_title,
    storable_text,
)
from pgblend.cli.documents.drawing_text import described
from pgblend.cli.documents.formula import formula_text, raised
from pgblend.cli.documents.list_numbers import drop_hidden, write_numbers
from pgblend.cli.documents.office_file import local_name, open_archive, parse_xml, read_member
from pgblend.cli.documents.text_builder import (
    TableRows,
    TextBuilder,
    cell_text,
    row_text,
    with_captions,
)

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAWING = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
HREF = "{http://www.w3.org/1999/xlink}href"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_DESCRIBED = (f"{_SVG}title", f"{_SVG}desc")
_FRAME = f"{_DRAWING}frame"
_SHAPES = tuple(
    f"{_DRAWING}{name}"
    for name in (
        *("g", "custom-shape", "rect", "ellipse", "circle", "line", "polyline", "polygon"),
        *("regular-polygon", "path", "connector", "measure", "caption"),
    )
)
_IMAGE, _OBJECT, _PAGE = f"{_DRAWING}image", f"{_DRAWING}object", f"{_DRAWING}page"
_MATH = "{http://www.w3.org/1998/Math/MathML}math"
_NOTE = f"{_TEXT}note"
_COMMENT = f"{_OFFICE}annotation"
# What stands beside the text: it comes after the paragraph that it is about.
_BESIDE = (_COMMENT, _NOTE)
_ROW = f"{_TABLE}table-row"
_BLOCKS = (f"{_TEXT}h", f"{_TEXT}p", _ROW)
_FORM = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
_CONTROL = f"{_DRAWING}control"
# What nobody sees of a form.
_UNSEEN_FIELDS = frozenset(("hidden", "password"))
# Fields of forms as Word has them.
_FIELD = "{urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0}"
_TICKED, _UNTICKED = "\u2612", "\u2610"
# Deleted while changes were tracked: kept in the file, shown to nobody.
_DELETED = f"{_TEXT}tracked-changes"
_HEADS = tuple(f"{_STYLE}{name}" for name in ("header", "header-first", "footer", "footer-first"))
_UNSEEN = frozenset(("annotation", "note", "tracked-changes", "title", "desc", "ruby-text"))
# What holds paragraphs and no text of its own.
_HOLDERS = frozenset(
    (
        *("note-body", "annotation", "table", "table-row", "table-header-rows", "table-cell"),
        *("list", "list-item", "text-box", "frame", "section", "header", "footer"),
    )
)
_SPACES = re.compile(r"[ \t\r\n]+")
_ABOVE = re.compile(r"super|[1-9]")
_LETTER = re.compile(r"[^\W\d_]{2}")
NO_OBJECT = "an object of another program"
_SHOW_IT = "show it in a word processor, and save the file, if it is to be found"
_METADATA = {
    "creator": "author",
    "initial-creator": "author",
    "subject": "subject",
    "description": "description",
    "keyword": "tags",
    "date": "date",
    "creation-date": "created",
    "language": "language",
}


def parse_opendocument(data: bytes) -> Document:
    """Read a text, slides or drawings: headings, paragraphs, tables; slides are pages."""
    with _opened(data) as (archive, content, others):
        builder = TextBuilder()
        if drop_hidden(content, [content, *others]):
            builder.leave_out("hidden text", NOT_SHOWN, _SHOW_IT)
        _set_formulas(archive, content)
        if next(content.iter(f"{_OFFICE}text"), None) is not None:
            write_numbers(content, [*others, content])
        _set_descriptions(content)
        _set_controls(content)
        _raise_figures(content, others)
        tables: dict[Any, tuple[TableRows, int]] = {}
        for element in content.iter(*_BLOCKS, _IMAGE, _OBJECT, _PAGE, *_BESIDE):
            if next(element.iterancestors(_DELETED), None) is None:
                _add(builder, archive, element, tables)
        for part in others:
            for text in running_lines(part):
                builder.add(text)
        about = metadata_of([content, *others])
    for rows, end in tables.values():
        builder.tables += filter(None, [rows.table(end)])
    text = builder.text()
    return Document(
        title=stated_title(about.pop("title", "")),
        text=text,
        metadata=about,
        headings=tuple(builder.headings),
        tables=with_captions(builder.tables, text, builder.headings),
        places=tuple(builder.places),
        pictures=tuple(builder.pictures),
        left_out=tuple(builder.left_out),
    )


def _add(
    builder: TextBuilder,
    archive: zipfile.ZipFile | None,
    element: Any,
    tables: dict[Any, tuple[TableRows, int]],
) -> None:
    """Add what an element says, unless it is said with what stands around it."""
    if element.tag == _PAGE:
        builder.start_page(len(builder.places) + 1)
    elif element.tag in (_IMAGE, _OBJECT):
        _add_object(builder, archive, element)
    elif element.tag == _COMMENT:
        _add_comment(builder, element)
    elif element.tag == _NOTE:
        said = (_joined(each) for each in element.iter(f"{_TEXT}note-body"))
        builder.add("\n".join(said).strip())
    elif next(element.iterancestors(*_BLOCKS, *_BESIDE), None) is None:
        if element.tag == _ROW:
            _add_row(builder, element, tables)
        else:
            _add_block(builder, element)


@contextmanager
def _opened(data: bytes) -> Iterator[tuple[zipfile.ZipFile | None, Any, list[Any]]]:
    """Open an archive, or a document in one XML file; give content, then styles and metadata."""
    if data.lstrip()[:1] == b"<":
        yield None, parse_xml(data), []
        return
    with open_archive(data) as archive:
        if b"encryption-data" in read_member(archive, "META-INF/manifest.xml"):
            raise ParseError("it is encrypted and needs a password")
        yield archive, parse_xml(read_member(archive, "content.xml")), beside_content(archive)


def beside_content(archive: zipfile.ZipFile) -> list[Any]:
    """Return what an archive has beside its content, as far as it can be read."""
    found = []
    for name in ("styles.xml", "meta.xml"):
        with suppress(ParseError):
            found.append(parse_xml(read_member(archive, name)))
    return found


def _set_formulas(archive: zipfile.ZipFile | None, content: Any) -> None:
    """Put each formula, an object of its own, as text where it stands; its picture is no other."""
    for element in list(content.iter(_OBJECT)):
        formula = next(element.iter(_MATH), None)
        name = posixpath.normpath(element.get(HREF, "."))
        if formula is None and archive is not None and name != ".":
            with suppress(ParseError):
                root = parse_xml(read_member(archive, f"{name}/content.xml"))
                formula = root if root.tag == _MATH else None
        if formula is None:
            continue
        frame = element.getparent()
        for other in frame:
            if other is not element:
                other.clear()
        element.clear()
        element.text = f" {formula_text(formula)} "
        if next(element.iterancestors(*_BLOCKS), None) is None:
            element.tag = f"{_TEXT}p"


def _set_descriptions(content: Any) -> None:
    """Put what is written of a drawing, for those who do not see it, as text where it stands."""
    for frame in list(content.iter(_FRAME, *_SHAPES)):
        said = [each for each in frame if each.tag in _DESCRIBED]
        texts = dict.fromkeys(described("".join(each.itertext())) for each in said)
        for each in said:
            frame.remove(each)
        if text := ". ".join(filter(None, texts)):
            is_within = next(frame.iterancestors(*_BLOCKS), None) is not None
            block = frame.makeelement(f"{_TEXT}span" if is_within else f"{_TEXT}p")
            block.text = f" {text} " if is_within else text
            frame.append(block)


def _raise_figures(content: Any, others: Sequence[Any]) -> None:
    """Write the figures of spans that stand above their line as raised ones."""
    styles = {
        style.get(f"{_STYLE}name")
        for part in (content, *others)
        for style in part.iter(f"{_STYLE}style")
        for each in style.iterchildren(f"{_STYLE}text-properties")
        if _ABOVE.match(each.get(f"{_STYLE}text-position", ""))
    }
    for span in content.iter(f"{_TEXT}span") if styles else ():
        if span.get(f"{_TEXT}style-name") in styles:
            span.text = raised(span.text or "")


def _set_controls(content: Any) -> None:
    """Put what was typed into a form, after its label, as text where it stands."""
    fields = {field.get(f"{_FORM}id"): field for field in content.iter(f"{_FORM}*")}
    for control in list(content.iter(_CONTROL)):
        field = fields.get(control.get(_CONTROL))
        if field is not None and local_name(field) not in _UNSEEN_FIELDS:
            is_within = next(control.iterancestors(*_BLOCKS), None) is not None
            control.tag = f"{_TEXT}span" if is_within else f"{_TEXT}p"
            control.text = f" {_field_words(field)} "
    for mark in content.iter(f"{_FIELD}fieldmark"):
        mark.text = _mark_words(mark)


def _mark_words(mark: Any) -> str:
    """Return what a reader sees of a field as Word has it: whether it is ticked, what is chosen."""
    values: dict[str, list[str]] = {}
    for each in mark.iter(f"{_FIELD}param"):
        values.setdefault(each.get(f"{_FIELD}name", ""), []).append(each.get(f"{_FIELD}value", ""))
    if mark.get(f"{_FIELD}type", "").endswith("FORMCHECKBOX"):
        return _TICKED if values.get("Checkbox_Checked") == ["true"] else _UNTICKED
    chosen = values.get("Dropdown_Selected", [""])[0]
    entries = dict(enumerate(values.get("Dropdown_ListEntry", [])))
    return entries.get(int(chosen), "") if chosen.isdecimal() else ""


def _field_words(field: Any) -> str:
    """Return what a reader sees of a field: its mark, its label, what was typed or chosen."""
    words = [field.get(f"{_FORM}label", "")]
    if local_name(field) in ("checkbox", "radio"):
        states = (field.get(f"{_FORM}current-state"), field.get(f"{_FORM}current-selected"))
        words.insert(0, _TICKED if {"checked", "true"} & set(states) else _UNTICKED)
    else:
        words.append(field.get(f"{_FORM}current-value") or field.get(f"{_FORM}value") or "")
        words += [option.get(f"{_FORM}label", "") for option in field.iter(f"{_FORM}option")]
    return " ".join(filter(None, words))


def _add_object(builder: TextBuilder, archive: zipfile.ZipFile | None, element: Any) -> None:
    """Add a picture, or the words and figures of a chart or formula within the document."""
    name = posixpath.normpath(element.get(HREF, "")) if element.get(HREF) else ""
    if archive is None or not name or not builder.asks_first(name):
        return
    if element.tag == _IMAGE:
        with suppress(ParseError):  # linked, or lost
            builder.add_picture(read_member(archive, name))
        return
    try:
        builder.add(object_words(archive, name))
    except ParseError:
        builder.leave_out(name, NO_OBJECT, SAVE_IT)


def object_words(archive: zipfile.ZipFile, name: str) -> str:
    """Return the words and figures of a chart within an archive; ParseError where it is none."""
    inner = parse_xml(read_member(archive, f"{name}/content.xml"))
    said = [" ".join(_joined(each).split()) for each in inner.iter(f"{_TEXT}p")]
    return row_text([text for text in said if text])


def _add_comment(builder: TextBuilder, element: Any) -> None:
    """Add a comment as a paragraph after what it is about."""
    who = " ".join("".join(each.itertext()) for each in element.iter("{*}creator"))
    said = " ".join(" ".join(_joined(each).split()) for each in element.iter(f"{_TEXT}p"))
    if said:
        builder.add(f"Comment ({who}): {said}" if who else f"Comment: {said}")


def _add_row(builder: TextBuilder, row: Any, tables: dict[Any, tuple[TableRows, int]]) -> None:
    """Add a table's row, and note it in its table, which then ends after it."""
    cells = [cell_text(_joined(cell)) for cell in row.iterchildren(f"{_TABLE}table-cell")]
    offset = builder.add(row_text(cells), "\n")
    is_header = local_name(row.getparent()) == "table-header-rows"
    table = next(row.iterancestors(f"{_TABLE}table"), row.getparent())
    rows, _ = tables.get(table) or (TableRows(), 0)
    if any(cells):
        rows.add(offset, cells, is_header)
    tables[table] = rows, builder.length


def _add_block(builder: TextBuilder, element: Any) -> None:
    """Add a heading or paragraph with all within it: notes, frames."""
    frame = next(element.iterancestors(_FRAME), None)
    kind = "" if frame is None else frame.get(f"{_PRESENTATION}class", "")
    if element.tag == f"{_TEXT}h" or kind == "title":
        level = element.get(f"{_TEXT}outline-level", "1")
        builder.add_heading(_joined(element), int(level) if level.isdecimal() else 1)
    else:
        builder.add(_joined(element).strip("\n").rstrip())


def running_lines(part: Any) -> list[str]:
    """Return what stands at the head or foot of each page, once."""
    found = (_joined(each).split() for each in part.iter(*_HEADS))
    said = dict.fromkeys(" ".join(words) for words in found)
    return [text for text in said if _LETTER.search(text)]


def metadata_of(parts: Sequence[Any]) -> dict[str, Any]:
    """Return what the document's metadata say."""
    found: dict[str, Any] = {}
    for meta in (meta for part in parts for meta in part.iter(f"{_OFFICE}meta")):
        for element in meta:
            name, text = local_name(element), storable_text(" ".join((element.text or "").split()))
            key = "title" if name == "title" else _METADATA.get(name)
            if key == "tags" and text:
                found.setdefault("tags", []).append(text)
            elif key and text:
                found.setdefault(key, text)
    return found


def _joined(element: Any) -> str:
    """Return the text below an OpenDocument element with its spaces and line ends."""
    is_holder = local_name(element) in _HOLDERS
    parts = [_spaced(element.text, is_holder)]
    for child in element:
        name = local_name(child)
        if name == "page-number" and (child.text or "").startswith("<"):
            pass  # on slides `<number>` stands for it
        elif name == "s":
            count = child.get(f"{_TEXT}c", "1")
            parts.append(" " * min(int(count), 100) if count.isdecimal() else " ")
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        elif name in ("p", "h"):
            parts.append(f"\n{_joined(child)}\n")
        elif name not in _UNSEEN:
            parts.append(_joined(child))
        parts.append(_spaced(child.tail, is_holder))
    return "".join(parts)


def _spaced(text: str | None, is_holder: bool) -> str:
    """Return a text with one space for each run, as it is shown; between paragraphs are none."""
    spaced = _SPACES.sub(" ", text or "")
    return "" if is_holder and spaced == " " else spaced
