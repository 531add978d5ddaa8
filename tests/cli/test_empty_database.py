"""What commands that look for something say where nothing is stored."""

from collections.abc import Callable

import pytest
from click.testing import Result

ASKING = [
    ("search", "wine"),
    ("query", "wine"),
    ("ask", "wine"),
    ("context", "wine"),
    ("facets", "wine", "--key", "color"),
]


@pytest.mark.parametrize("command", ASKING, ids=" ".join)
def test_it_says_so(pgblend: Callable[..., Result], command: tuple[str, ...]) -> None:
    found = pgblend(*command)
    assert found.exit_code == 0
    assert "no documents that you may read (pgblend ingest stores them)" in found.stderr
