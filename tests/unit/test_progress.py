import io

from rich.console import Console

from pgblend.cli.base.output import BYTES
from pgblend.cli.documents.progress import progress_lines
from pgblend.cli.documents.terminal_bars import terminal_bars
from support.waiting import wait_until


def test_bars_show_rate_and_share() -> None:
    stream = io.StringIO()
    with terminal_bars(Console(file=stream, force_terminal=True, width=120)) as start:
        move = start("Reading", 4_000_000, BYTES)
        move(1_000_000)
        move(3_000_000)
        start("Embedding", 10, "chunks")(5)
    shown = stream.getvalue()
    assert "Reading" in shown
    assert "100%" in shown
    assert "B/s" in shown


def test_lines_tell_how_far_the_work_begun_last_is() -> None:
    stream = io.StringIO()
    with progress_lines(stream, 0.01) as start:
        start("Reading", 4_000_000, BYTES)(1_000_000)
        wait_until(lambda: "pgblend: Reading: 25 % (1.0 of 4.0 MB)\n" in stream.getvalue())
        start("Embedding", 1_000, "chunks")(500)
        wait_until(lambda: "pgblend: Embedding: 50 % (500 of 1,000 chunks)\n" in stream.getvalue())
        start("Empty", 0)
        wait_until(lambda: "pgblend: Empty: 0 % (0 of 0)\n" in stream.getvalue())


def test_lines_come_once_in_an_interval() -> None:
    stream = io.StringIO()
    with progress_lines(stream, 3600) as start:
        start("Reading", 10)(10)
    assert stream.getvalue() == ""
