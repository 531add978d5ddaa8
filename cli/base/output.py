"""Rows on standard output: a table for people, JSON, CSV, Markdown or bare file names.

When standard output is not a terminal there are no colours. Nothing is cut or wrapped then, unless
the environment variable COLUMNS says how wide a line may be.
"""

import csv
import html
import io
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar, cast

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


# Text of others on its way to a terminal: it is shown, and steers nothing.

# Characters that turn the direction of what follows, so that it reads as something else.
BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_STEERING = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDIRECTIONAL}]")
_TURNING = re.compile(rf"[{BIDIRECTIONAL}]")


def shown(text: str) -> str:
    r"""Write what would steer a terminal as \u001b, which is the same in a text of JSON."""
    return _STEERING.sub(_escaped, text)


def turned_shown(text: str) -> str:
    r"""Write what turns the direction of a text as \u202e."""
    return _TURNING.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class _Shown:
    """A text stream that shows what would steer a terminal; `trusted` is the stream itself."""

    def __init__(self, stream: TextIO) -> None:
        self.trusted = stream

    def write(self, text: str) -> int:
        self.trusted.write(shown(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trusted, name)


@contextmanager
def terminal_is_safe() -> Iterator[None]:
    """Let standard error, and standard output where it is a terminal, show what would steer it.

    What is written to a file or a program is data, and stays as it is.
    """
    before = sys.stdout, sys.stderr
    sys.stderr = cast(TextIO, _Shown(sys.stderr))
    if sys.stdout.isatty():
        sys.stdout = cast(TextIO, _Shown(sys.stdout))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def trusted(err: bool) -> TextIO:
    """Return standard output or error for our own colours; the texts in them are made safe."""
    stream = sys.stderr if err else sys.stdout
    return getattr(stream, "trusted", stream)


Row = Mapping[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])

_FORMATS = {
    "json": "Print JSON; its schema is in pgblend/cli/schemas.",
    "csv": "Print CSV with a header, for spreadsheets: a text that they would take for a formula "
    "begins with '.",
    "raw-csv": "Print CSV with each value as it is.",
    "md": "Print Markdown.",
    "messages": "Print the messages of a chat call, as JSON.",
    "files": "Print one file (URI or source key) a line, each once.",
}
_RAW = "raw-csv"
# How formulas and calls of programs begin, also those of full width and behind what is not seen.
_FORMULAS = tuple("=+-@|%\uff1d\uff0b\uff0d\uff20\uff5c\uff05")
_UNSEEN = ("C", "Z")
_META_KEY = "pgblend.output_format"
_UNLIMITED_WIDTH = 1_000_000
# Control characters of a document must not steer the reader's terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def output_options(*formats: str) -> Callable[[Function], Function]:
    """Add the flags for these formats; the command gets the chosen one as `output_format`."""

    def decorate(function: Function) -> Function:
        def with_format(*args: Any, **kwargs: Any) -> Any:
            chosen = click.get_current_context().meta.get(_META_KEY, "table")
            chosen = "csv" if chosen == _RAW else chosen
            return function(*args, output_format=chosen, **kwargs)

        command = update_wrapper(with_format, function)
        given = [name for each in formats for name in ((each, _RAW) if each == "csv" else (each,))]
        for name in reversed(given):
            command = click.option(
                f"--{name}", is_flag=True, expose_value=False, callback=_choose, help=_FORMATS[name]
            )(command)
        return command  # type: ignore[return-value]

    return decorate


def _choose(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Remember the format that was asked for; two of them are a usage error."""
    name = (param.name or "").replace("_", "-")
    if value and ctx.meta.setdefault(_META_KEY, name) != name:
        raise click.UsageError(f"--{ctx.meta[_META_KEY]} and --{name} exclude each other")


def echo_json(value: object) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def echo_rows(rows: Sequence[Row], columns: Sequence[str], output_format: str) -> None:
    """Print these columns of the rows as a table, CSV or Markdown."""
    if output_format == "csv":
        echo_csv(rows, columns)
    elif output_format == "md":
        _echo_markdown_table(rows, columns)
    else:
        _echo_table(rows, columns)


def echo_list(name: str, rows: Sequence[Row], columns: Sequence[str], output_format: str) -> None:
    """Print a list of things: whole under their name as JSON, files, or these columns of them."""
    if output_format == "json":
        echo_json({name: rows})
    elif output_format == "files":
        echo_files(rows)
    else:
        echo_rows(rows, columns, output_format)


def echo_csv(rows: Iterable[Row], columns: Sequence[str]) -> None:
    """Print CSV; lists and objects stand in it as JSON, NULL as nothing.

    A spreadsheet would run a text that looks like a formula, unless it was asked for raw.
    """
    write = cell_text if _is_raw() else _spreadsheet_text
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([write(row[column]) for column in columns] for row in rows)
    click.echo(buffer.getvalue(), nl=False)


def _is_raw() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_META_KEY) == _RAW)


def _spreadsheet_text(value: object) -> str:
    """Write one value so that no spreadsheet takes it for a formula; numbers are none."""
    text = cell_text(value)
    if not isinstance(value, str):
        return text
    seen = next((letter for letter in text if unicodedata.category(letter)[0] not in _UNSEEN), "")
    return f"'{text}" if seen in _FORMULAS else text


def echo_files(rows: Iterable[Row]) -> None:
    """Print the URI of each row, or else its source key, each once, in the order of the rows."""
    files = dict.fromkeys(row["uri"] or row["source_key"] for row in rows)
    for file in files:
        click.echo(one_line(str(file)))


def echo_renderable(renderable: object, err: bool = False) -> None:
    """Print something of rich's: coloured and wrapped on a terminal, plain and whole elsewhere."""
    console = _console(err)
    with console.capture() as capture:
        console.print(renderable)
    lines = (line.rstrip(" ") for line in capture.get().splitlines())
    click.echo("\n".join(lines).strip("\n"), file=trusted(err))


def width() -> int:
    """Return how many characters a line of standard output has room for."""
    return _console(err=False).width


def _console(err: bool) -> "Console":
    from rich.console import Console

    console = Console(file=trusted(err), highlight=False, markup=False, emoji=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = _UNLIMITED_WIDTH
    return console


def cell_text(value: object) -> str:
    """Write one value for a cell: NULL as nothing, lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, dict | list | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def counted(number: int, noun: str) -> str:
    """Return the number with its noun: 1 run, 2 runs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def one_line(text: str) -> str:
    """Put text on one line, without control characters."""
    return turned_shown(" ".join(_CONTROL.sub(" ", text).split()))


def printable(text: str) -> str:
    """Keep line ends and tabs, replace every other control character."""
    return turned_shown(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))


def marked_pieces(snippet: str) -> list[tuple[str, bool]]:
    """Split an HTML-escaped snippet into plain pieces, each with whether it is a hit."""
    pieces = re.split(r"</?mark>", re.sub(r"\s+", " ", snippet))
    return [
        (turned_shown(_CONTROL.sub(" ", html.unescape(piece))), index % 2 == 1)
        for index, piece in enumerate(pieces)
        if piece
    ]


def escape_markdown(text: str) -> str:
    """Write text so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)


def _echo_table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Print a table; one below the other where a word would have to be broken beside others."""
    from rich.box import SIMPLE_HEAD
    from rich.measure import Measurement
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        is_number = all(isinstance(row[column], int | float | None) for row in rows)
        table.add_column(column, justify="right" if is_number and rows else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in columns))
    console = _console(err=False)
    unlimited = console.options.update(max_width=_UNLIMITED_WIDTH)
    needed = Measurement.get(console, unlimited, table).minimum
    if needed <= console.width or not rows:
        echo_renderable(table)
    else:
        _echo_below_each_other(rows, columns)


def _echo_below_each_other(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Print a line a value, its column before it, and an empty line between rows."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    blocks: list[Table | Text] = []
    for row in rows:
        block = Table.grid(padding=(0, 2))
        block.add_column(no_wrap=True, style="bold", min_width=max(map(len, columns)))
        block.add_column(overflow="fold")
        for column in columns:
            block.add_row(column, _cell(row[column]))
        blocks += [block, Text()]
    echo_renderable(Group(*blocks[:-1]))


def _cell(value: object) -> "Text":
    from rich.text import Text

    return Text(one_line(cell_text(value)))


def _echo_markdown_table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    click.echo(f"| {' | '.join(columns)} |")
    click.echo(f"|{' --- |' * len(columns)}")
    for row in rows:
        cells = (escape_markdown(one_line(cell_text(row[column]))) for column in columns)
        click.echo(f"| {' | '.join(cells)} |")


# Progress, which is lines or bars.

BYTES = "bytes"


class StartBar(Protocol):
    """Starts a bar of some length; what it returns moves the bar."""

    def __call__(self, description: str, total: int, unit: str = "") -> Callable[[int], None]:
        """Start a bar; the unit is that of its rate."""
        ...
