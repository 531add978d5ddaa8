"""Tables in plain lines, as a PDF's text has them: told by figures at the lines' ends."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from statistics import median

from pgblend.cli.ingest.document import Row, Table
from pgblend.cli.ingest.tables import CAPTION, is_amount

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
    return tuple(table for run in _runs(_lines(text)) if (table := _table(run)) is not None)


def _lines(text: str) -> Iterator[_Line]:
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
        rows.append(Row(line.offset, label, group.text.strip() if group else ""))
    first = run.above[0] if run.above else run.rows[0]
    header = " | ".join(line.text.strip() for line in run.above)[:_LONGEST_HEADER]
    return Table(first.offset, run.rows[-1].end, "", header, tuple(rows))
