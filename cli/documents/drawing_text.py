"""The words of drawings in files of Office: charts as tables, diagrams, shapes."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pgblend.cli.documents.document import FILE_WITHIN, SAVE_IT, LeftOut
from pgblend.cli.documents.formula import formula_text, raised
from pgblend.cli.documents.number_format import general, shown
from pgblend.cli.documents.office_file import Package, local_name
from pgblend.cli.documents.text_builder import TableRows, TextBuilder, cell_text, row_text

R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MOST_POINTS = 100_000
# How Office writes what XML has no letter for, such as a line end within a text.
_ESCAPED = re.compile(r"_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")
# Fields whose text counts slides and pages.
_COUNTED = ("slidenum",)

# What programs write where nobody described a picture.
_FILE_NAME = re.compile(r"\S+\.(png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp)", re.IGNORECASE)
_OFF = ("1", "true", "on")


def unescaped(text: str) -> str:
    """Return a text of Office with the letters that it escapes."""
    if "_x" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text).replace("\v", "\n")


def described(text: str) -> str:
    """Return what is written of a drawing for those who do not see it; "" for a file's name."""
    words = cell_text(text)
    return "" if _FILE_NAME.fullmatch(words) else words


def description(properties: Any) -> str:
    """Return the title and description of a drawing, of its element docPr or cNvPr."""
    texts = (described(properties.get(name, "")) for name in ("title", "descr"))
    return ". ".join(dict.fromkeys(filter(None, texts)))


def is_hidden(properties: Any) -> bool:
    """Whether a drawing is switched off."""
    return properties.get("hidden") in _OFF


def shape_text(body: Any) -> str:
    """Return the text of a shape, a line for each paragraph."""
    return "\n".join(filter(None, (_paragraph(each) for each in body.iter(f"{A}p")))).strip()


def add_drawings(builder: TextBuilder, package: Package, part: str, element: Any) -> None:
    """Add the charts and diagrams within an element of a part; embedded files are told."""
    relations = package.relations(part)
    for child in element.iter():
        name = local_name(child)
        if name == "chart" and (relation := relations.get(child.get(f"{R}id", ""))):
            _add_chart(builder, package, relation.part)
        elif name == "relIds" and (relation := relations.get(child.get(f"{R}dm", ""))):
            _add_diagram(builder, package, relation.part)
        elif name.lower() in ("oleobj", "oleobject"):
            relation = relations.get(child.get(f"{R}id", ""))
            if relation is not None and package.has(relation.part):
                told = LeftOut(relation.part, FILE_WITHIN, SAVE_IT)
                if told not in builder.left_out:
                    builder.left_out.append(told)


def _paragraph(paragraph: Any) -> str:
    parts = []
    for child in paragraph:
        name = local_name(child)
        if name in ("r", "fld") and child.get("type") not in _COUNTED:
            said = unescaped("".join(text.text or "" for text in child.iter(f"{A}t")))
            parts.append(raised(said) if _is_raised(child) else said)
        elif name == "br":
            parts.append("\n")
        elif name not in ("pPr", "endParaRPr", "fld"):
            parts += [formula_text(each) for each in child.iter() if local_name(each) == "oMath"]
    return "".join(parts)


def _is_raised(run: Any) -> bool:
    """Whether a run stands above its line: by a part of its height, in thousandths or percent."""
    properties = run.find(f"{A}rPr")
    baseline = "0" if properties is None else properties.get("baseline", "0")
    return baseline[:1] not in "-0"


def _add_diagram(builder: TextBuilder, package: Package, part: str) -> None:
    root = package.xml(part)
    if root is not None:
        texts = (shape_text(point) for point in root.iter() if local_name(point) == "pt")
        builder.add("\n".join(filter(None, texts)))


def _add_chart(builder: TextBuilder, package: Package, part: str) -> None:
    """Add a chart: its title, what its axes are, then a table with a column for each series."""
    root = package.xml(part)
    if root is None:
        return
    is_extended = next((True for each in root.iter() if local_name(each) == "chartData"), False)
    title, *others = _titles(root)
    builder.add(title)
    builder.add("\n".join(others), "\n" if title else "\n\n")
    columns = list(_extended_columns(root) if is_extended else _columns(root))
    rows = TableRows(cell_text(title))
    gap = "\n\n"
    names = [name for name, _ in columns]
    for cells in [names, *_lines([cells for _, cells in columns])]:
        cells = [cell_text(cell) for cell in cells]
        if any(cells):
            rows.add(builder.add(row_text(cells), gap), cells, is_header=cells == names)
            gap = "\n"
    builder.add_table(rows)
    for relation in package.related(part, "chartUserShapes"):
        shapes = package.xml(relation.part)
        if shapes is not None:
            builder.add(shape_text(shapes))


def _titles(root: Any) -> list[str]:
    """Return the chart's title, "" without one, and other words written into it."""
    title, others = "", []
    for element in root.iter():
        name = local_name(element)
        if name == "title":
            said = cell_text(shape_text(element) or " ".join(_cached(element)))
            if not title and local_name(element.getparent()) == "chart":
                title = said
            else:
                others.append(said)
        elif name == "rich" and not any(local_name(a) == "title" for a in element.iterancestors()):
            others.append(cell_text(shape_text(element)))
    return [title, *dict.fromkeys(filter(None, others))]


def _cached(element: Any) -> Iterator[str]:
    for each in element.iter():
        if local_name(each) == "v" and each.text:
            yield each.text


def _columns(root: Any) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield the categories, where there are any and once for all series alike, then each series."""
    before: list[dict[int, str]] | None = None
    for series in root.iter():
        if local_name(series) != "ser":
            continue
        parts = {local_name(child): child for child in series}
        name = " ".join(_cached(parts["tx"])) if "tx" in parts else ""
        categories = [
            points for key in ("cat", "xVal") if key in parts for points in _levels(parts[key])
        ]
        if categories != before:
            yield from (("", points) for points in categories)
        before = categories
        for key in ("val", "yVal", "bubbleSize"):
            for points in _levels(parts[key]) if key in parts else ():
                yield name, points


def _levels(element: Any) -> list[dict[int, str]]:
    """Return the points of a data source by their place; categories may have several levels."""
    levels = [each for each in element.iter() if local_name(each) == "lvl"]
    sources = levels[::-1] or [
        each
        for each in element.iter()
        if local_name(each) in ("strCache", "numCache", "strLit", "numLit")
    ]
    return [_points(source) for source in sources]


def _points(source: Any) -> dict[int, str]:
    code = next((each.text or "" for each in source if local_name(each) == "formatCode"), "")
    code = code or source.get("formatCode", "")
    found: dict[int, str] = {}
    for point in source:
        index = point.get("idx", "")
        if local_name(point) == "pt" and index.isdecimal() and int(index) < _MOST_POINTS:
            value = point.text or "".join(_cached(point))
            found[int(index)] = _number(value.strip(), code)
    return found


def _number(text: str, code: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    return shown(number, code, raw=text) if code else general(number, text)


def _extended_columns(root: Any) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield the columns of a chart of the newer kind: waterfall, treemap and the like."""
    names = [
        " ".join(_cached(text))
        for series in root.iter()
        if local_name(series) == "series"
        for text in series
        if local_name(text) == "tx"
    ]
    for data in root.iter():
        if local_name(data) == "data":
            for dimension in data:
                is_number = local_name(dimension) == "numDim"
                for points in _levels(dimension):
                    yield (names.pop(0) if is_number and names else ""), points


def _lines(columns: Iterable[dict[int, str]]) -> Iterator[list[str]]:
    columns = list(columns)
    for place in sorted({place for points in columns for place in points}):
        yield [points.get(place, "") for points in columns]
