"""Progress bars on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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

from pgblend.cli.base.output import BYTES, StartBar, one_line, terminal_is_safe


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
def terminal_bars(console: Console) -> Iterator[StartBar]:
    """Yield a function that starts a bar below those that are there."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    # What is written meanwhile goes past our own stream, unless it is put before rich's once more.
    with Progress(*columns, console=console) as progress, terminal_is_safe():

        def start(description: str, total: int, unit: str = "") -> Callable[[int], None]:
            task = progress.add_task(one_line(description), total=max(total, 1), unit=unit)
            return lambda amount: progress.advance(task, amount)

        yield start
