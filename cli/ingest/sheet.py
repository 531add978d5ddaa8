"""A sheet of a workbook, as each kind of file gives it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pgblend.cli.ingest.text_builder import TextBuilder


def _nothing(builder: TextBuilder) -> None:
    """Add nothing."""


@dataclass(frozen=True)
class Sheet:
    """A sheet's rows, each with its number from 1, and what adds the words beside the cells.

    The rows are read once, and before what is beside them.
    """

    name: str
    rows: Iterator[tuple[int, list[str]]]
    add_beside: Callable[[TextBuilder], None] = _nothing
