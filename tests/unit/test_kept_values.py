"""What a session keeps for its next search."""

import json
from typing import Any

import pytest

from pgblend.plpy.base.session import MOST_PLANS as MOST_STATEMENTS
from pgblend.plpy.base.session import Backend, keep_value
from pgblend.plpy.search.plan import MOST_PLANS, Plan, State, search_plan
from support.fake_database import FakeDatabase


class Statement:
    def execute(self, values: list[object]) -> list[list[object]]:
        return [values]


class Server:
    """A module plpy that notes what is prepared."""

    SPIError = Error = RuntimeError

    def __init__(self, made: list[Any]) -> None:
        self.made = made

    def prepare(self, statement: str, types: list[str]) -> Statement:
        self.made.append((statement, types))
        return Statement()


def test_a_full_store_is_emptied_first() -> None:
    kept: dict[Any, int] = {}
    assert [keep_value(kept, key, len(key), 2) for key in ("a", "bb")] == [1, 2]
    assert kept == {"a": 1, "bb": 2}
    assert keep_value(kept, "ccc", 3, 2) == 3
    assert kept == {"ccc": 3}


def plan_of(db: FakeDatabase, options: dict[str, Any], **of_database: Any) -> Plan:
    state = State([1], ["c"], "{}", json.dumps(of_database), "{}", "balanced", "ann", True, [])
    return search_plan(db, state, json.dumps(options), None, reranks=False)


def test_a_plan_is_made_once_for_all_that_it_follows_from() -> None:
    db = FakeDatabase({})
    plan = plan_of(db, {"k1": 2})
    assert plan_of(db, {"k1": 2}) is plan
    assert plan_of(db, {"k1": 2}, b=0.5).settings.b == 0.5
    assert plan_of(db, {"k1": 3}).settings.k1 == 3
    for number in range(MOST_PLANS + 1):
        plan_of(db, {"k1": number / 100})
        assert len(db.kept("plans")) <= MOST_PLANS


@pytest.mark.parametrize(
    "options", [{"language": "english"}, {"rerank_scores": {str(n): 1 for n in range(1000)}}]
)
def test_what_may_change_or_is_long_is_not_kept(options: dict[str, Any]) -> None:
    db = FakeDatabase({"_regconfig(": lambda _: [{"found": True}]})
    plan_of(db, options)
    assert db.kept("plans") == {}


def test_statements_are_prepared_once() -> None:
    made: list[Any] = []
    db = Backend(Server(made), {})
    assert db.run("SELECT $1", ["text"], "a") == [["a"]]
    assert db.run("SELECT $1", ["text"], "b") == [["b"]]
    assert made == [("SELECT $1", ["text"])]
    for number in range(MOST_STATEMENTS + 1):
        db.run(f"SELECT {number}", [])
        assert len(db.kept("statements")) <= MOST_STATEMENTS
