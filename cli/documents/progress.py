"""Progress on standard error: bars on a terminal, elsewhere a line a minute."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

import click

from pgblend.cli.base.output import BYTES, StartBar, trusted

LINE_SECONDS = 60.0


@contextmanager
def progress_bars(line_seconds: float = LINE_SECONDS) -> Iterator[StartBar]:
    """Yield a function that starts a bar of some length; it returns one that moves the bar."""
    if sys.stderr.isatty():
        from rich.console import Console  # takes its time

        from pgblend.cli.documents.terminal_bars import terminal_bars

        with terminal_bars(Console(file=trusted(err=True))) as start:
            yield start
    else:
        with progress_lines(sys.stderr, line_seconds) as start:
            yield start


@dataclass
class _Work:
    """How far something is."""

    description: str
    total: int
    unit: str
    done: int = 0

    def move(self, amount: int) -> None:
        self.done += amount

    def __str__(self) -> str:
        share = f"{self.description}: {100 * self.done // max(self.total, 1)} %"
        if self.unit == BYTES:
            return f"{share} ({self.done / 1e6:,.1f} of {self.total / 1e6:,.1f} MB)"
        return f"{share} ({self.done:,} of {self.total:,} {self.unit}".rstrip() + ")"


@contextmanager
def progress_lines(stream: TextIO, seconds: float) -> Iterator[StartBar]:
    """Print where the work begun last stands, whenever so many seconds have passed."""
    begun: list[_Work] = []
    ended = threading.Event()

    def start(description: str, total: int, unit: str = "") -> Callable[[int], None]:
        begun.append(_Work(description, total, unit))
        return begun[-1].move

    def print_lines() -> None:
        while not ended.wait(seconds):
            if begun:
                click.echo(f"pgblend: {begun[-1]}", file=stream)

    printer = threading.Thread(target=print_lines, daemon=True)
    printer.start()
    try:
        yield start
    finally:
        ended.set()
        printer.join()
