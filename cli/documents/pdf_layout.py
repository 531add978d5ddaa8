"""The layout of a PDF's page: the order of its lines, and tables made of blanks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from statistics import median

from pgblend.cli.documents.document import Table, TableRow
from pgblend.cli.documents.text_builder import CAPTION, is_amount

# Tables in plain lines, as a PDF's text has them: told by figures at the lines' ends.

_LONGEST_ROW = 160
_LONGEST_TITLE = 120
_MOST_TITLE_LINES = 4
# So many where one of them begins as captions do.
_MOST_CAPTION_LINES = 10
_LONGEST_HEADER = 400
_LEAST_ROWS = 3
# Rows with one figure each may be the ends of a paragraph's lines: so many are not.
_LEAST_SHORT_ROWS = 6
# First lines with few figures among their words, measured by the others', are titles.
_TITLE_SHARE = 0.75
_DASHES = frozenset(("-", "\u2013", "\u2014", "\u2212", "n/a"))
_DIGIT = re.compile(r"\d")
_SENTENCE_END = re.compile(r"[.!?;:]$")
# The lines of a table of contents are no rows, captions neither.
_NO_ROW = re.compile(rf"\.{{4}}|(?:\. ){{4}}|\u2026{{2}}|^{CAPTION.pattern}")


@dataclass(frozen=True)
class _Line:
    """A line of a text; `figures` of the words after its label have digits, a `share` of these."""

    offset: int
    text: str
    figures: int = 0
    share: float = 0
    label: str = ""

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


@dataclass
class _Run:
    """Lines that belong together: what stands above the rows, and these."""

    above: list[_Line]
    rows: list[_Line] = field(default_factory=list)
    groups: list[_Line] = field(default_factory=list)


def find_tables(text: str) -> tuple[Table, ...]:
    """Return the tables of a text whose rows are lines; a blank line parts pages."""
    return tuple(table for run in _runs(_table_lines(text)) if (table := _table(run)) is not None)


def _table_lines(text: str) -> Iterator[_Line]:
    offset = 0
    for line in text.split("\n"):
        yield _line(offset, line)
        offset += len(line) + 1


def _line(offset: int, line: str) -> _Line:
    words = line.split()
    values = [bool(_DIGIT.search(word)) or word in _DASHES for word in words]
    if len(line) > _LONGEST_ROW or not any(values) or _NO_ROW.search(line):
        return _Line(offset, line)
    count = sum(values)
    has_amount = any(map(is_amount, words)) or sum(word in _DASHES for word in words) > 1
    if not has_amount or not (values[-1] or count >= max(3, 0.4 * len(words))):
        return _Line(offset, line)
    first = next((place for place, is_value in enumerate(values) if place and is_value), len(words))
    figures, rest = sum(values[first:]), len(words) - first
    return _Line(offset, line, figures, figures / max(rest, 1), " ".join(words[:first]))


def _runs(lines: Iterator[_Line]) -> Iterator[_Run]:
    """Yield the lines that could be tables; a line without figures between two rows names a group.

    After a page's end a table goes on, whatever few lines stand at the head of the next page.
    """
    before: list[_Line] = []
    between: list[_Line] = []
    run: _Run | None = None
    for line in lines:
        if line.figures:
            if run is None or not _goes_on(between):
                if run is not None:
                    yield run
                    before = between
                run = _Run(_titles(before))
            else:
                run.groups += [each for each in between if each.text.strip()]
            run.rows.append(line)
            before, between = [], []
        elif run is None:
            before = [*before, line][-_MOST_CAPTION_LINES:]
        else:
            between.append(line)
            if len(between) > _MOST_CAPTION_LINES:
                yield run
                run, before, between = None, between, []
    if run is not None:
        yield run


def _goes_on(between: Sequence[_Line]) -> bool:
    """Whether a table goes on after lines without figures."""
    said = [line for line in between if line.text.strip()]
    if any(CAPTION.match(line.text) or len(line.text) > _LONGEST_TITLE for line in said):
        return False
    return len(said) <= (2 if len(said) < len(between) else 1)


def _titles(before: Sequence[_Line]) -> list[_Line]:
    """Return the lines above the rows that are caption and header, not a paragraph's end."""
    said = [line for line in before if line.text.strip()]
    for place in reversed(range(len(said))):
        if CAPTION.match(said[place].text):
            return said[place:]
    titles: list[_Line] = []
    for line in reversed(before[-_MOST_TITLE_LINES:]):
        is_prose = bool(titles) and _SENTENCE_END.search(line.text)
        if not line.text.strip() or len(line.text) > _LONGEST_TITLE or is_prose:
            break
        titles.insert(0, line)
    return titles


def _table(run: _Run) -> Table | None:
    usual = median(line.share for line in run.rows)
    above = [*run.above, *takewhile(lambda line: line.share < _TITLE_SHARE * usual, run.rows)]
    run = _Run(above, run.rows[len(above) - len(run.above) :], run.groups)
    figures = [line.figures for line in run.rows]
    least = _LEAST_ROWS if median(figures) >= 2 else _LEAST_SHORT_ROWS
    if len(run.rows) < least:
        return None
    groups = sorted(run.groups, key=lambda line: line.offset)
    are_alike = len({line.label for line in run.rows}) == 1
    rows = []
    for line in run.rows:
        group = next((each for each in reversed(groups) if each.offset < line.offset), None)
        # "Grade 7" is of a row, "Grade" of all.
        words = len(line.label.split()) + are_alike
        label = " ".join(line.text.split()[:words])
        rows.append(TableRow(line.offset, label, group.text.strip() if group else ""))
    first = run.above[0] if run.above else run.rows[0]
    header = " | ".join(line.text.strip() for line in run.above)[:_LONGEST_HEADER]
    return Table(first.offset, run.rows[-1].end, "", header, tuple(rows))


# In points. Narrower gaps stand between words.
_LEAST_GUTTER = 7
# A gap between words is wider, measured by the height of what stands beside it.
_SPACE = 0.18
_UNSPACED = frozenset(" ,.;:)]}")
_LEAST_LINES = 4
# Columns are prose: so many characters a line, which fill so much of their width.
_LEAST_CHARACTERS = 14
_LEAST_FILLED = 0.5
_MOST_COLUMNS = 4
# Lines that go down in more runs are drawn in no order at all.
_MOST_RUNS = 6
# Gutters lie within so much of a page from its edges.
_INNER = 0.1


@dataclass(frozen=True, slots=True)
class PdfPiece:
    """A part of a line without wide gaps: its text and its place on the page.

    `line` counts the page's lines as they are drawn, `number` all of its pieces.
    """

    text: str
    left: float
    bottom: float
    right: float
    top: float
    line: int
    number: int

    @property
    def height(self) -> float:
        """How high the piece is."""
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        """Where the middle of the piece lies, from below."""
        return (self.top + self.bottom) / 2

    @property
    def is_on_its_side(self) -> bool:
        """Whether the text runs up or down the page."""
        return len(self.text) > 2 and self.height > 2 * (self.right - self.left)


def in_order(pieces: Sequence[PdfPiece]) -> list[list[PdfPiece]]:
    """Return lines of pieces in the order in which people read them.

    What stands on its side, as stamps in a margin do, comes last.
    """
    upright = [piece for piece in pieces if not piece.is_on_its_side]
    beside = [piece for piece in pieces if piece.is_on_its_side]
    if len(beside) > len(upright):
        return _lines(_by_drawing(pieces))
    groups = [*_columns(upright, _MOST_COLUMNS), beside]
    return [line for group in groups for line in _lines(group)]


def _lines(pieces: Sequence[PdfPiece]) -> list[list[PdfPiece]]:
    """Put pieces that are neighbours in one line together again."""
    lines: list[list[PdfPiece]] = []
    for piece in pieces:
        before = lines[-1][-1] if lines else None
        if before and before.line == piece.line:
            lines[-1].append(piece)
        elif before and _goes_on_with(before, piece):
            lines[-1].append(replace(piece, text=_gap(before, piece) + piece.text))
        else:
            lines.append([piece])
    return lines


def _goes_on_with(before: PdfPiece, piece: PdfPiece) -> bool:
    """Whether a piece is of the line before: PDFium breaks it after raised and single letters."""
    gap = piece.left - before.right
    shared = min(before.top, piece.top) - max(before.bottom, piece.bottom)
    if -1 < gap < _LEAST_GUTTER and shared > min(before.height, piece.height) / 2:
        return True
    is_short = min(len(before.text.strip()), len(piece.text.strip())) == 1
    is_level = abs(before.middle - piece.middle) < min(before.height, piece.height) / 2
    return is_short and is_level and gap >= 0


def _gap(before: PdfPiece, piece: PdfPiece) -> str:
    """Return the blank that stands between pieces, if any; one does after the number of a note."""
    is_near = piece.left - before.right < _SPACE * max(before.height, piece.height)
    is_joined = is_near and not before.text.isdecimal()
    return "" if is_joined or piece.text[:1] in _UNSPACED else " "


def _columns(pieces: list[PdfPiece], most: int) -> list[list[PdfPiece]]:
    """Return groups of pieces, in reading order: columns, and what reaches over them."""
    gutter = _gutter(pieces) if most > 1 else None
    if gutter is None:
        return [_downwards(pieces)]
    over = {piece.line for piece in pieces if _crosses(piece, gutter)}
    groups: list[list[PdfPiece]] = []
    band: list[PdfPiece] = []
    for row in _rows(pieces):
        if any(piece.line in over for piece in row):
            groups += [*_band(band, gutter, most), row]
            band = []
        else:
            band += row
    return groups + _band(band, gutter, most)


def _rows(pieces: Sequence[PdfPiece]) -> list[list[PdfPiece]]:
    """Return pieces from above, those on a level together and as they are drawn."""
    rows: list[list[PdfPiece]] = []
    for piece in sorted(pieces, key=lambda piece: -piece.middle):
        if rows and rows[-1][0].middle - piece.middle < max(piece.height, 1) / 2:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [_by_drawing(row) for row in rows]


def _band(band: list[PdfPiece], gutter: tuple[float, float], most: int) -> list[list[PdfPiece]]:
    """Return what lies between two lines that reach over the gutter; tables stay row by row."""
    left = _by_drawing([piece for piece in band if piece.right <= gutter[1]])
    right = _by_drawing([piece for piece in band if piece.right > gutter[1]])
    if left and right and not (_is_prose(left, 0) and _is_prose(right, 0)):
        return [_by_drawing(band)]
    sides = [side for side in (left, right) if side]
    return [group for side in sides for group in _columns(side, most - 1)]


def _gutter(pieces: Sequence[PdfPiece]) -> tuple[float, float] | None:
    """Return the gap between two columns of prose; None where a page, or a column, has none."""
    if len(pieces) < 2 * _LEAST_LINES:
        return None
    start, end = min(p.left for p in pieces), max(p.right for p in pieces)
    best: tuple[float, tuple[float, float]] | None = None
    for gap in _gaps(pieces, start, end):
        left = [piece for piece in pieces if piece.right <= gap[1]]
        right = [piece for piece in pieces if piece.left >= gap[0]]
        if (
            _is_prose(left, _LEAST_LINES)
            and _is_prose(right, _LEAST_LINES)
            and _beside(left, right)
        ):
            score = min(len(left), len(right)) + (gap[1] - gap[0]) / 1000
            if best is None or score > best[0]:
                best = score, gap
    return best[1] if best else None


def _gaps(pieces: Sequence[PdfPiece], start: float, end: float) -> list[tuple[float, float]]:
    """Return gaps in the middle that few pieces reach over, seen from above."""
    size = int(end - start) + 1
    if not 0 < size < 20_000:
        return []
    steps = [0] * (size + 1)
    for piece in pieces:
        steps[int(piece.left - start)] += 1
        steps[min(int(piece.right - start) + 1, size)] -= 1
    covered, counts = 0, []
    for step in steps[:size]:
        covered += step
        counts.append(covered)
    first, last = int(size * _INNER), int(size * (1 - _INNER))
    gaps: list[tuple[float, float]] = []
    for level in sorted(set(counts[first:last]))[:6]:
        place = first
        while place < last:
            stop = place
            while stop < last and counts[stop] <= level:
                stop += 1
            if stop - place >= _LEAST_GUTTER:
                gaps.append((start + place, start + stop))
            place = stop + 1
        if gaps and level > len(pieces) * 0.4:
            break
    return gaps


def _crosses(piece: PdfPiece, gutter: tuple[float, float]) -> bool:
    return piece.left < gutter[0] and piece.right > gutter[1]


def _is_prose(pieces: Sequence[PdfPiece], least: int) -> bool:
    """Whether pieces are the lines of a column: several, not short ones, which fill its width."""
    if len(pieces) < max(least, 1):
        return False
    width = max(p.right for p in pieces) - min(p.left for p in pieces)
    if median(len(p.text) for p in pieces) < _LEAST_CHARACTERS:
        return False
    filled = (sum(piece.right - piece.left for piece in row) for row in _rows(pieces))
    return least == 0 or median(filled) >= _LEAST_FILLED * width


def _beside(left: Sequence[PdfPiece], right: Sequence[PdfPiece]) -> bool:
    """Whether two columns stand beside each other, not one below the other."""
    top = min(max(p.top for p in left), max(p.top for p in right))
    bottom = max(min(p.bottom for p in left), min(p.bottom for p in right))
    heights = [max(p.top for p in side) - min(p.bottom for p in side) for side in (left, right)]
    return top - bottom > 0.3 * min(heights)


def _by_drawing(pieces: Sequence[PdfPiece]) -> list[PdfPiece]:
    return sorted(pieces, key=lambda piece: piece.number)


def _downwards(pieces: list[PdfPiece]) -> list[PdfPiece]:
    """Return a column's pieces from above; where they are drawn so already, as they are drawn.

    Runs of lines that go down are moved as a whole, and only where no two lie beside each other.
    """
    drawn = _by_drawing(pieces)
    runs: list[list[PdfPiece]] = []
    for piece in drawn:
        height = max(piece.height, 1)
        if runs and piece.middle <= runs[-1][-1].middle + height / 2:
            runs[-1].append(piece)
        else:
            runs.append([piece])
    if len(runs) == 1:
        return drawn
    if len(runs) > max(_MOST_RUNS, 0.4 * len(pieces)):
        return [piece for row in _rows(pieces) for piece in row]
    spans = sorted(
        ((max(p.middle for p in run), min(p.middle for p in run), run) for run in runs),
        key=lambda span: -span[0],
    )
    for (_, bottom, _), (top, _, _) in pairwise(spans):
        if top >= bottom:
            return drawn
    return [piece for _, _, run in spans for piece in run]
