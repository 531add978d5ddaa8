"""The reading order of a PDF's page: columns one after the other, in whatever order drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

# In points. Narrower gaps stand between words.
_LEAST_GUTTER = 7
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
class Piece:
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


def in_order(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return lines of pieces in the order in which people read them.

    What stands on its side, as stamps in a margin do, comes last.
    """
    upright = [piece for piece in pieces if not piece.is_on_its_side]
    beside = [piece for piece in pieces if piece.is_on_its_side]
    if len(beside) > len(upright):
        return _lines(_by_drawing(pieces))
    groups = [*_columns(upright, _MOST_COLUMNS), beside]
    return [line for group in groups for line in _lines(group)]


def _lines(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Put pieces that are neighbours in one line together again."""
    lines: list[list[Piece]] = []
    for piece in pieces:
        if lines and lines[-1][-1].line == piece.line:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return lines


def _columns(pieces: list[Piece], most: int) -> list[list[Piece]]:
    """Return groups of pieces, in reading order: columns, and what reaches over them."""
    gutter = _gutter(pieces) if most > 1 else None
    if gutter is None:
        return [_downwards(pieces)]
    over = {piece.line for piece in pieces if _crosses(piece, gutter)}
    groups: list[list[Piece]] = []
    band: list[Piece] = []
    for row in _rows(pieces):
        if any(piece.line in over for piece in row):
            groups += [*_band(band, gutter, most), row]
            band = []
        else:
            band += row
    return groups + _band(band, gutter, most)


def _rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return pieces from above, those on a level together and as they are drawn."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: -piece.middle):
        if rows and rows[-1][0].middle - piece.middle < max(piece.height, 1) / 2:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [_by_drawing(row) for row in rows]


def _band(band: list[Piece], gutter: tuple[float, float], most: int) -> list[list[Piece]]:
    """Return what lies between two lines that reach over the gutter; tables stay row by row."""
    left = _by_drawing([piece for piece in band if piece.right <= gutter[1]])
    right = _by_drawing([piece for piece in band if piece.right > gutter[1]])
    if left and right and not (_is_prose(left, 0) and _is_prose(right, 0)):
        return [_by_drawing(band)]
    sides = [side for side in (left, right) if side]
    return [group for side in sides for group in _columns(side, most - 1)]


def _gutter(pieces: Sequence[Piece]) -> tuple[float, float] | None:
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


def _gaps(pieces: Sequence[Piece], start: float, end: float) -> list[tuple[float, float]]:
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


def _crosses(piece: Piece, gutter: tuple[float, float]) -> bool:
    return piece.left < gutter[0] and piece.right > gutter[1]


def _is_prose(pieces: Sequence[Piece], least: int) -> bool:
    """Whether pieces are the lines of a column: several, not short ones, which fill its width."""
    if len(pieces) < max(least, 1):
        return False
    width = max(p.right for p in pieces) - min(p.left for p in pieces)
    if median(len(p.text) for p in pieces) < _LEAST_CHARACTERS:
        return False
    filled = (sum(piece.right - piece.left for piece in row) for row in _rows(pieces))
    return least == 0 or median(filled) >= _LEAST_FILLED * width


def _beside(left: Sequence[Piece], right: Sequence[Piece]) -> bool:
    """Whether two columns stand beside each other, not one below the other."""
    top = min(max(p.top for p in left), max(p.top for p in right))
    bottom = max(min(p.bottom for p in left), min(p.bottom for p in right))
    heights = [max(p.top for p in side) - min(p.bottom for p in side) for side in (left, right)]
    return top - bottom > 0.3 * min(heights)


def _by_drawing(pieces: Sequence[Piece]) -> list[Piece]:
    return sorted(pieces, key=lambda piece: piece.number)


def _downwards(pieces: list[Piece]) -> list[Piece]:
    """Return a column's pieces from above; where they are drawn so already, as they are drawn.

    Runs of lines that go down are moved as a whole, and only where no two lie beside each other.
    """
    drawn = _by_drawing(pieces)
    runs: list[list[Piece]] = []
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
