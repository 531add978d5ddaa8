"""Progress bars on standard error, and nothing where that is no terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

StartBar = Callable[[str, int], Callable[[int], None]]


@contextmanager
def progress_bars() -> Iterator[StartBar]:
    """Yield a function that starts a bar of some length; it returns one that moves the bar."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def start(description: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(description, total=max(total, 1))
            return lambda amount: progress.advance(task, amount)

        yield start
