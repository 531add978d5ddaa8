"""A row of arrays as text, read by the server."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.lexical.records import array_record
from support.database import Database

NUMBERS = st.floats(allow_nan=False)


@pytest.mark.parametrize(
    ("arrays", "numbers", "text"),
    [
        (([1, 2], [0.5]), (1.5, 7), '("{1, 2}","{0.5}",1.5,7)'),
        (([], []), (0.0, 0), '("{}","{}",0.0,0)'),
        (([1e-300],), (), '("{1e-300}")'),
        ((), (1,), "(1)"),
    ],
)
def test_the_text_of_a_row(arrays: Any, numbers: Any, text: str) -> None:
    assert array_record(arrays, *numbers) == text


def test_the_server_reads_what_was_written(db: Database) -> None:
    db.rows("CREATE TYPE pg_temp.found AS (ids bigint[], scores float8[], total float8, n int)")

    @given(
        ids=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4),
        scores=st.lists(NUMBERS, max_size=4),
        total=NUMBERS,
        n=st.integers(0, 2**31 - 1),
    )
    @settings(max_examples=40)
    def is_read(ids: list[int], scores: list[float], total: float, n: int) -> None:
        text = array_record((ids, scores), total, n)
        assert db.row("SELECT (%s::pg_temp.found).*", text) == (ids, scores, total, n)

    is_read()
    text = array_record(([], [math.nan]), math.nan, 0)
    _, (score,), total, _ = db.row("SELECT (%s::pg_temp.found).*", text)
    assert math.isnan(score)
    assert math.isnan(total)
