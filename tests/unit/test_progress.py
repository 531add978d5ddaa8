import io

from rich.console import Console

from pgblend.cli.ingest.progress import BYTES, progress_bars


def test_bars_show_rate_and_share_and_are_silent_without_a_terminal():
    for terminal in (True, False):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=terminal, width=120)
        with progress_bars(console) as start:
            move = start("Reading", 4_000_000, BYTES)
            move(1_000_000)
            move(3_000_000)
            start("Embedding", 10, "chunks")(5)
        shown = stream.getvalue()
        assert bool(shown) == terminal
        if terminal:
            assert "Reading" in shown
            assert "100%" in shown
            assert "B/s" in shown
