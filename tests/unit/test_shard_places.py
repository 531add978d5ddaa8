"""How the command line and searches reach shards."""

import pytest

from pgblend.cli.base.errors import UserError
from pgblend.cli.shards.members import ways_to

GIVEN = {"b1": "postgresql://u@h1/search", "b2": "postgresql://u@h2/search"}
DIRECT = ["host=h1 dbname=search", "host=h2 dbname=search"]


@pytest.mark.parametrize(
    ("pooler", "hosts"),
    [("pool:6432", ["pool", "pool"]), ("pool-{name}:6432", ["pool-b1", "pool-b2"])],
)
def test_searches_go_by_a_pooler_and_commands_do_not(pooler: str, hosts: list[str]) -> None:
    ways = ways_to(GIVEN, DIRECT, pooler)
    assert [set(one.split()) for one in ways.connections] == [
        {f"host={host}", "port=6432", f"dbname={name}"}
        for host, name in zip(hosts, GIVEN, strict=True)
    ]
    assert ways.directs == DIRECT


def test_a_pooler_without_a_port_is_an_error() -> None:
    with pytest.raises(UserError, match="expected HOST:PORT"):
        ways_to(GIVEN, DIRECT, "pool")
