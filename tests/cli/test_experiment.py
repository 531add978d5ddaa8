"""experiment: start, status, stop."""

from collections.abc import Callable
from typing import Any

from click.testing import Result

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]


def test_start_status_and_stop(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    refused = pgblend("experiment", "start", "balanced", "code")
    assert (refused.exit_code, "not logged" in refused.stderr) == (1, True)
    pgblend("config", "set", "log_address", "localhost:9")
    started = pgblend("experiment", "start", "balanced", "code")
    assert (started.exit_code, started.stderr) == (0, "experiment 1: balanced against code\n")
    (told,) = parse_valid(pgblend("experiment", "status", "--json"), "experiment-status")[
        "experiments"
    ]
    assert (told["profile"], told["rival"], told["verdict"]) == ("balanced", "code", None)
    assert "no verdict" in pgblend("experiment", "status", "balanced").stdout
    assert pgblend("experiment", "status", "code", "--csv").stdout.count("\n") == 1
    stopped = pgblend("experiment", "stop", "balanced")
    assert (stopped.exit_code, stopped.stdout) == (0, "no verdict (0 votes to 0)\n")
    assert pgblend("experiment", "stop", "balanced").exit_code == 1
    after = parse_valid(pgblend("experiment", "status", "--json"), "experiment-status")
    assert after["experiments"][0]["stopped_at"]
