"""Tables as text: a row a line, column names as the chunks' heading."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pgblend.cli.ingest.document import Document, Heading, Place, Table, storable_text
from pgblend.cli.ingest.tables import TableRows, is_amount
from pgblend.cli.ingest.text_builder import TextBuilder, cell_text, row_text

_LONGEST_HEADER = 300
_MOST_EMPTY = 100


def table_document(builder: TextBuilder) -> Document:
    """Return the document of tables that are written; its chunks are whole rows."""
    return Document(
        text=builder.text(),
        headings=tuple(builder.headings),
        tables=tuple(builder.tables),
        places=tuple(builder.places),
        breaks=tuple(builder.breaks),
        pictures=tuple(builder.pictures),
        whole_lines=True,
    )


def write_rows(
    builder: TextBuilder, rows: Iterable[tuple[int, list[str]]], sheet: str | None
) -> None:
    """Write a sheet; a first row of texts only is taken for the names of the columns.

    Names that are too long for a heading stand before each cell, which then has its own line.
    """
    name = storable_text(sheet) if sheet else None
    header: list[str] | None = None
    wide: list[str] | None = None
    tables = [TableRows()]
    is_parted = False
    named = False
    for number, row in rows:
        cells = [cell_text(cell) for cell in row]
        if not any(cells):
            is_parted = True
            continue
        if is_parted and tables[-1].has_amounts and not any(map(is_amount, cells)):
            tables.append(TableRows())
        is_parted = False
        line = row_text(_near(cells)) if wide is None else _named_cells(wide, cells)
        start = builder.add(line, "\n" if header is not None else "\n\n")
        builder.places.append(Place(start, sheet=name, row=number))
        tables[-1].add(start, cells)
        if header is None:
            header = cells
            builder.breaks.append(start)
            if name:
                builder.headings.append(Heading(start, 1, name))
            wide = header if _is_header(header) and len(line) > _LONGEST_HEADER else None
        elif not named:
            named = True
            if wide is None and _is_header(header):
                names = storable_text(row_text(header))
                builder.headings.append(Heading(start, 2, names))
    builder.tables += _stacked(tables, builder.length, has_names=wide is not None)


def _near(cells: list[str]) -> list[str]:
    """Return cells with no more than so many empty ones in a row: some lie at a sheet's far end."""
    if len(cells) <= _MOST_EMPTY:
        return cells
    kept: list[str] = []
    empty = 0
    for cell in cells:
        empty = 0 if cell else empty + 1
        if empty <= _MOST_EMPTY:
            kept.append(cell)
    return kept


def _named_cells(names: Sequence[str], cells: Sequence[str]) -> str:
    """Write each cell after the name of its column, one a line."""
    known = len(names)
    return "\n".join(
        f"{names[place]}: {cell}" if place < known and names[place] else cell
        for place, cell in enumerate(cells)
        if cell
    )


def _stacked(tables: Sequence[TableRows], end: int, has_names: bool) -> Iterator[Table]:
    """Yield a sheet's tables; what one lacks of caption and header is that of the one above.

    Where the cells have their names with them, the header is not said once more.
    """
    ends = [*(table.start for table in tables[1:]), end]
    above: Table | None = None
    for rows, table_end in zip(tables, ends, strict=True):
        table = rows.table(table_end)
        if table is not None:
            if above is not None:
                caption = " ".join(filter(None, (above.caption, table.caption)))
                said = caption if not table.header else table.caption or above.caption
                table = replace(table, caption=said, header=table.header or above.header)
            yield replace(table, header="") if has_names else table
            above = table


def _is_header(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return len(filled) > 1 and not any(_is_value(cell) for cell in filled)


def _is_value(cell: str) -> bool:
    """Tell whether a cell is a number in whatever form, years included."""
    try:
        float(cell)
    except ValueError:
        return is_amount(cell)
    return True
