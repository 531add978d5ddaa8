"""The time limit of the lexical arms: what it counts, and what happens when it is over.

A session waits for a table that is locked: longer than its limit, however fast the machine is.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database, add_documents
from support.locks import answered_late

LIMIT_MS = 1000
LATE_SECONDS = 1.2
LIMIT: dict[str, Any] = {"timeouts_ms": {"lexical": LIMIT_MS}}
WHOLE: dict[str, Any] = {"timeouts_ms": {"lexical": 60_000, "total": LIMIT_MS}}

DOCUMENTS = [
    ("wine", "", "the wine of France"),
    ("sea", "", "the sea and the wind"),
    ("cheese", "", "wine, cheese and wind"),
]
LATE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "lexical": ("lexical_search", "wine", {}),
    "hybrid": ("hybrid_search", "wine", {"weights": {"vector": 0}}),
    "documents": ("lexical_search", "wine", {"level": "document"}),
    "fuzzy": ("fuzzy_search", "wiine", {}),
}


@pytest.fixture
def library(committed: Database) -> Database:
    committed.rows("SELECT add_collection('library')")
    add_documents(committed, "library", DOCUMENTS)
    committed.rows("SELECT lexical_seal('library')")
    return committed


@pytest.fixture
def other(library: Database) -> Iterator[Database]:
    """A session that has searched nothing yet."""
    with connect(library.url) as opened:
        yield Database(opened)


def late(library: Database, session: Database, table: str, call: Callable[[], Any]) -> Any:
    return answered_late(library.connection, session.connection, table, LATE_SECONDS, call)


def keys(session: Database, function: str, query: str, options: dict[str, Any]) -> list[str]:
    statement = f"SELECT source_key FROM {function}(%s, options => %s)"
    return session.column(statement, query, json.dumps(options))


def stages(session: Database, query: str, options: dict[str, Any]) -> dict[str, Any]:
    told = session.value("SELECT search_explain(%s, options => %s)", query, json.dumps(options))
    return {stage["name"]: stage.get("ms") for stage in told["stages"]}


@pytest.mark.slow
@pytest.mark.parametrize("case", LATE)
@pytest.mark.parametrize("languages", [1, 2])
def test_what_a_session_does_once_counts_against_no_limit(
    library: Database, other: Database, case: str, languages: int
) -> None:
    if languages == 2:
        library.rows(
            "SELECT ingest_document('library', 'wein', 'Der Wein aus Frankreich und die See',"
            " language => 'german')"
        )
    function, query, options = LATE[case]
    found = late(library, other, "segment", lambda: keys(other, function, query, options | LIMIT))
    assert set(found) >= {"wine", "cheese"}
    assert not [text for text in other.warnings() if "time limit" in text]


def test_making_ready_is_a_stage_of_its_own(library: Database, other: Database) -> None:
    told = late(library, other, "segment", lambda: stages(other, "wine", LIMIT))
    assert next(iter(told)) == "warm_up"
    assert told["warm_up"] >= LATE_SECONDS * 1000
    assert "warm_up" not in stages(other, "wine", LIMIT)  # all is there
    library.rows("SELECT ingest_document('library', 'new', 'wine once more')")
    assert next(iter(stages(other, "wine", LIMIT))) == "warm_up"  # what is new has to be read
    library.rows("SELECT lexical_seal('library')")
    assert next(iter(stages(other, "wine", LIMIT))) == "warm_up"
    assert "warm_up" not in stages(other, "wine", LIMIT)


@pytest.mark.slow
@pytest.mark.parametrize("case", LATE)
def test_scoring_that_takes_too_long_is_called_that(
    library: Database, other: Database, case: str
) -> None:
    function, query, options = LATE[case]

    def search(**more: Any) -> list[str]:
        with connect(library.url) as opened:  # which has no postings in mind
            session = Database(opened)
            found = late(
                library, session, "posting",
                lambda: keys(session, function, query, options | LIMIT | more),
            )  # fmt: skip
            other.notices.extend(session.notices)
            return found

    assert search() == []
    assert any("time limit" in text for text in other.warnings())
    with pytest.raises(psycopg.Error, match="time limit") as strict:
        search(strict=True)
    assert strict.value.sqlstate == "PB009"


@pytest.mark.parametrize("case", LATE)
def test_the_whole_search_has_a_limit_too(library: Database, other: Database, case: str) -> None:
    function, query, options = LATE[case]
    strict = {**options, **WHOLE, "strict": True}
    with pytest.raises(psycopg.Error, match="whole search") as error:
        late(library, other, "segment", lambda: keys(other, function, query, strict))
    assert error.value.sqlstate == "PB009"
    assert error.value.diag.message_hint == "Raise timeouts_ms, key total."


def test_a_slow_correction_costs_the_fuzzy_list_alone(library: Database, other: Database) -> None:
    assert keys(other, "lexical_search", "sea", {}) == ["sea"]  # its postings are in mind
    statement = "SELECT source_key, degraded FROM hybrid_search('sea wiine', options => %s)"
    rows = late(library, other, "posting", lambda: other.rows(statement, json.dumps(LIMIT)))
    assert [key for key, _ in rows] == ["sea"]
    assert [note for note in rows[0][1] if not note.startswith("vector")] == [
        "fuzzy: the time limit of fuzzy is over. Raise timeouts_ms, key lexical."
    ]
    assert set(keys(other, "hybrid_search", "sea wiine", {})) == {"sea", "wine", "cheese"}
