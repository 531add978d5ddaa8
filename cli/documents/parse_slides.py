"""PowerPoint by slide: titles as headings, text, tables, charts, notes and comments."""

from collections.abc import Iterator
from typing import Any

from pgblend.cli.documents.document import (
    NOT_SHOWN,
    Document,
    ParseError,
    stated_title,
    storable_value,
)
from pgblend.cli.documents.drawing_text import (
    A,
    R,
    add_drawings,
    description,
    is_hidden,
    shape_text,
)
from pgblend.cli.documents.ingest_report import read_though_hidden
from pgblend.cli.documents.office_file import Package, local_name, open_package
from pgblend.cli.documents.text_builder import (
    TableRows,
    TextBuilder,
    cell_text,
    row_text,
    with_captions,
)

_MAIN = "ppt/presentation.xml"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SHAPES = frozenset(("sp", "pic", "graphicFrame", "grpSp", "cxnSp"))
_TITLES = ("title", "ctrTitle")
# Of notes, what repeats the slide or counts it.
_NO_NOTES = ("sldImg", "sldNum", "hdr", "ftr", "dt")
_FOOT = "ftr"
_SHOW_IT = "switch them on in PowerPoint's selection pane if they are to be found"

_Place = tuple[int, int]


def parse_slides(data: bytes) -> Document:
    """Read a file of PowerPoint; a chunk's pages are slides."""
    with open_package(data, _MAIN) as package:
        main = package.main(_MAIN)
        root = package.xml(main)
        if root is None:
            raise ParseError(f"no readable file of PowerPoint: {main!r} has nothing in it")
        reader = _SlidesReader(package)
        for number, part in enumerate(_slides(package, main, root), start=1):
            reader.builder.start_page(number)
            reader.read_slide(part, number)
        properties = package.properties()
    builder = reader.builder
    text = builder.text()
    return Document(
        title=stated_title(properties.get("title", "")),
        text=text,
        metadata=storable_value({key: properties[key] for key in properties if key != "title"}),
        headings=tuple(builder.headings),
        tables=with_captions(builder.tables, text, builder.headings),
        places=tuple(builder.places),
        pictures=tuple(builder.pictures),
        left_out=tuple(dict.fromkeys((*package.left_out, *builder.left_out))),
        warnings=read_though_hidden("slides", reader.hidden),
    )


def _slides(package: Package, main: str, root: Any) -> Iterator[str]:
    """Yield the slides in order; those that are missing are told by the package."""
    relations = package.relations(main)
    for slide in root.iterfind(f"{_P}sldIdLst/{_P}sldId"):
        if relation := relations.get(slide.get(f"{R}id", "")):
            yield relation.part


class _SlidesReader:
    """Writes slides in order; what layouts say on many slides comes once."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self.builder = TextBuilder()
        self.hidden: list[int] = []
        self._number = 0
        self._said: set[str] = set()

    def read_slide(self, part: str, number: int) -> None:
        """Read a slide, then its notes and comments."""
        root = self._package.xml(part)
        self._number = number
        if root is None:
            return
        if root.get("show") in ("0", "false"):
            self.hidden.append(number)
        layout = next((each.part for each in self._package.related(part, "slideLayout")), "")
        places = self._layout_places(layout)
        shapes = sorted(_shapes(root.find(f"{_P}cSld/{_P}spTree")), key=lambda s: _top(s, places))
        title = next((shape for shape in shapes if _placeholder(shape) in _TITLES), None)
        if title is not None:
            self.builder.add_heading(shape_text(title), 1)
        for shape in shapes:
            if shape is not title:
                self._read_shape(shape, part)
        self._read_layout(layout)
        for kind in ("notesSlide", "comments"):
            for relation in self._package.related(part, kind):
                self._read_notes(relation.part)

    def _read_shape(self, shape: Any, part: str) -> None:
        name = local_name(shape)
        properties = next(shape.iterfind("*/{*}cNvPr"), None)
        if properties is not None:
            if is_hidden(properties):
                self.builder.leave_out(f"slide {self._number}: hidden shapes", NOT_SHOWN, _SHOW_IT)
                return
            self.builder.add(description(properties))
        if name == "grpSp":
            for child in _shapes(shape):
                self._read_shape(child, part)
        elif name == "graphicFrame":
            for table in shape.iter(f"{A}tbl"):
                self._read_table(table)
            add_drawings(self.builder, self._package, part, shape)
        elif name == "pic":
            self._read_picture(shape, part)
        elif _placeholder(shape) == _FOOT:
            self._say_once(shape_text(shape))
        else:
            self.builder.add(shape_text(shape))

    def _read_picture(self, shape: Any, part: str) -> None:
        relations = self._package.relations(part)
        for blip in shape.iter(f"{A}blip"):
            relation = relations.get(blip.get(f"{R}embed", ""))
            if relation is not None and (data := self._package.read(relation.part)):
                self.builder.add_picture(data)

    def _read_table(self, table: Any) -> None:
        rows = TableRows()
        gap = "\n\n"
        for row in table.iterchildren(f"{A}tr"):
            cells = [cell_text(shape_text(cell)) for cell in row.iterchildren(f"{A}tc")]
            if any(cells):
                rows.add(self.builder.add(row_text(cells), gap), cells)
                gap = "\n"
        self.builder.add_table(rows)

    def _read_notes(self, part: str) -> None:
        root = self._package.xml(part)
        for element in () if root is None else root.iter():
            name = local_name(element)
            if name == "text":  # of a comment
                self.builder.add((element.text or "").strip())
            elif name == "txBody" and _placeholder(element.getparent()) not in _NO_NOTES:
                self.builder.add(shape_text(element))

    def _layout_places(self, layout: str) -> dict[str, _Place]:
        """Return where a layout has its placeholders, by their number and by their kind."""
        found: dict[str, _Place] = {}
        masters = [each.part for each in self._package.related(layout, "slideMaster")]
        for part in filter(None, [layout, *masters]):
            root = self._package.xml(part)
            for shape in () if root is None else root.iter(f"{_P}sp"):
                mark, place = shape.find(f".//{_P}ph"), _offset(shape)
                if mark is not None and place is not None:
                    found.setdefault(f"#{mark.get('idx', '0')}", place)
                    found.setdefault(mark.get("type", "obj"), place)
        return found

    def _read_layout(self, layout: str) -> None:
        """Read what a layout and its master show beside placeholders."""
        masters = [each.part for each in self._package.related(layout, "slideMaster")]
        for part in filter(None, [layout, *masters]):
            if part in self._said:
                continue
            self._said.add(part)
            root = self._package.xml(part)
            for shape in () if root is None else root.iter(f"{_P}sp"):
                if shape.find(f".//{_P}ph") is None:
                    self._say_once(shape_text(shape))

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self.builder.add(text)


def _shapes(tree: Any) -> Iterator[Any]:
    """Yield the shapes of a slide or a group; of alternatives the one for newer programs."""
    for child in () if tree is None else tree:
        name = local_name(child)
        if name in _SHAPES:
            yield child
        elif name == "AlternateContent":
            choices = sorted(child, key=lambda each: local_name(each) != "Choice")
            yield from _shapes(choices[0] if choices else None)


def _placeholder(shape: Any) -> str:
    """Return the kind of placeholder that a shape is; "" for others."""
    mark = next((each for each in shape if local_name(each).startswith("nv")), None)
    mark = mark.find(f".//{_P}ph") if mark is not None else None
    return "" if mark is None else mark.get("type", "obj")


def _top(shape: Any, places: dict[str, _Place]) -> _Place:
    """Return where a shape begins, from the top; a placeholder may lie where its layout says."""
    place = _offset(shape)
    mark = shape.find(f".//{_P}ph")
    if place is None and mark is not None:
        own = places.get(f"#{mark.get('idx', '0')}")
        place = own or places.get(mark.get("type", "obj"))
    return place or (0, 0)


def _offset(shape: Any) -> _Place | None:
    """Return a shape's own place; None where it has none."""
    frames = (shape.find(f"{_P}spPr/{A}xfrm"), shape.find(f"{_P}grpSpPr/{A}xfrm"))
    frame = next((each for each in (*frames, shape.find(f"{_P}xfrm")) if each is not None), None)
    offset = frame.find(f"{A}off") if frame is not None else None
    if offset is None:
        return None
    try:
        return int(offset.get("y", "0")), int(offset.get("x", "0"))
    except ValueError:
        return None
