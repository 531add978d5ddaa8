"""What `make soak` holds for growth, and what its record holds for certain."""

import os
import random
from contextlib import ExitStack
from pathlib import Path

import pytest
from soak.growth import growth
from soak.readers import Row, missing, wrong_order, wrong_rows
from soak.record import NOWHERE, Record
from soak.samples import open_files

KEY = ("walk", "a")
OLD, NEW = ("old text",), ("new text", "more of it")


def series(slope: float, noise: float, seconds: int = 600) -> list[tuple[float, float]]:
    """A process that fills 50 MB of caches, then grows by so many MB a second."""
    chance = random.Random(1)
    return [
        (second, 50 + 50 * min(second / 120, 1) + slope * second + chance.gauss(0, noise))
        for second in range(0, seconds, 2)
    ]


@pytest.mark.parametrize(("slope", "grows"), [(0.05, True), (0.0, False), (-0.05, False)])
def test_a_leak_is_told_from_noise_and_from_filling_caches(slope: float, grows: bool) -> None:
    found = growth(series(slope, noise=3))
    assert found is not None
    assert found.is_too_much(2, 0.03) == grows
    assert found.grown == pytest.approx(slope * 400, abs=4)


def test_a_short_series_has_no_verdict() -> None:
    assert growth(series(1, 0, seconds=100)) is None
    assert growth([]) is None


def test_a_key_is_certain_between_writes_only() -> None:
    record = Record()
    assert record.state(KEY) == NOWHERE
    record.settle({KEY: OLD})
    before = record.snapshot()
    row = Row(1, 1.0, 7, KEY, NEW[0])
    assert wrong_rows([row], before, record.snapshot())
    assert missing([row], before, record.snapshot(), KEY)
    record.doubt({KEY: NEW})
    assert record.state(KEY).possible == {OLD, NEW}
    assert not wrong_rows([row], before, record.snapshot())
    assert not missing([row], before, record.snapshot(), KEY)
    doubtful = record.snapshot()
    record.settle({KEY: NEW})
    assert not wrong_rows([row], doubtful, record.snapshot())
    settled = record.snapshot()
    assert missing([row], settled, settled, KEY) == ["('walk', 'a') lacks 'more of it'"]
    assert not wrong_rows([row], settled, settled)


def test_wrong_orders_are_seen() -> None:
    rows = [Row(1, 0.5, 1, KEY, "a"), Row(2, 0.4, 2, KEY, "b")]
    assert wrong_order(rows) == []
    assert wrong_order(rows[::-1]) == ["ranks [2, 1]", "scores [0.4, 0.5]"]
    passage, text = wrong_order([rows[0], Row(2, 0.5, 1, KEY, "a")])
    assert passage.startswith("a passage twice")
    assert text.startswith("a text twice")


def test_files_that_postgresql_keeps_open_by_itself_are_not_counted(tmp_path: Path) -> None:
    before = open_files(os.getpid())
    with ExitStack() as stack:
        for name in ("base/5/16384", "base/5/16384_fsm", "global/1262", "pgsql_tmp/1", "leak"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(path.open("w"))
        path.unlink()
        assert open_files(os.getpid()) == before + 2
    assert open_files(os.getpid()) == before
