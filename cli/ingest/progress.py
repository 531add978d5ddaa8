"""Progress bars on standard error, and nothing where that is no terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

BYTES = "bytes"


class StartBar(Protocol):
    """Starts a bar of some length; what it returns moves the bar."""

    def __call__(self, description: str, total: int, unit: str = "") -> Callable[[int], None]:
        """Start a bar; the unit is that of its rate."""
        ...


class RateColumn(ProgressColumn):
    """How much is done a second, in the unit of the bar."""

    def render(self, task: Task) -> Text:
        """Return the rate; nothing until there is one."""
        speed = task.finished_speed or task.speed
        if speed is None:
            return Text("")
        unit = task.fields["unit"]
        shown = decimal(int(speed)) if unit == BYTES else f"{speed:,.0f} {unit}".rstrip()
        return Text(f"{shown}/s")


@contextmanager
def progress_bars(console: Console | None = None) -> Iterator[StartBar]:
    """Yield a function that starts a bar of some length; it returns one that moves the bar."""
    console = console or Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def start(description: str, total: int, unit: str = "") -> Callable[[int], None]:
            task = progress.add_task(description, total=max(total, 1), unit=unit)
            return lambda amount: progress.advance(task, amount)

        yield start
