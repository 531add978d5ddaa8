"""Pages by offset and by cursor make up the long list, whatever the settings."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

WORDS = ("deploy", "production", "care", "wine", "sea", "ship", "sail")
QUERY = "deploy production with care"
COLUMNS = "rank, chunk_id, score, relevance, arms, details -> 'cursor'"
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "words alone": {"weights": {"vector": 0}},
    "vectors alone": {"weights": {"lexical": 0}},
    "huge and tiny weights": {"weights": {"lexical": 1e6, "vector": 1e-6}},
    "convex": {"fusion": "convex", "normalization": {"method": "zscore"}},
    "bonus": {"bonus": {"kind": "both_top", "depth": 5, "amount": 0.1}},
    "mmr": {"mmr": {"lambda": 0.5, "pool": 7}},
    "near": {"dedup": "near", "per_document": 1},
    "off": {"dedup": "off"},
    "above": {"min_score": 0.3, "min_relevance": 0.1},
}


@pytest.fixture(scope="module")
def library(module_connection: Any) -> Database:
    """A collection with ties, repeated texts, documents of several chunks and one without words."""
    db = Database(module_connection)
    db.rows("SELECT add_collection('c')")
    add_space(db)
    for number in range(40):
        text = " ".join(WORDS[(number * step) % 7] for step in range(1, 2 + number % 5))
        chunks = [{"content": text}, {"content": f"{text} again"}] if number % 3 else None
        if chunks:
            call = "SELECT ingest_document('c', %s, '', chunks => %s)"
            db.rows(call, f"{number}", json.dumps(chunks))
        else:
            add_documents(db, "c", [(f"{number}", "", text)])
    embed_waiting(db)
    return db


def page(db: Database, limit: int, options: dict[str, Any]) -> list[tuple[Any, ...]]:
    return db.rows(
        f"SELECT {COLUMNS} FROM hybrid_search(%s, %s, options => %s, query_embedding => %s)",
        QUERY,
        limit,
        json.dumps(options),
        vector_of(QUERY),
    )


@pytest.mark.parametrize("name", SETTINGS)
@settings(
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(offset=st.integers(0, 60), limit=st.integers(0, 60))
def test_any_page_is_a_part_of_the_long_list(
    library: Database, name: str, offset: int, limit: int
) -> None:
    given_options = {"candidate_depth": 60, **SETTINGS[name]}
    whole = page(library, 60, given_options)
    expected = whole[offset : offset + limit]
    assert page(library, limit, {**given_options, "offset": offset}) == expected


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("limit", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_cursors_lead_through_the_long_list(library: Database, name: str, limit: int) -> None:
    whole = page(library, 100, SETTINGS[name])
    assert len(whole) >= 5
    assert [row[0] for row in whole] == list(range(1, len(whole) + 1))
    gathered = page(library, limit, SETTINGS[name])
    while len(gathered) < len(whole):
        more = page(library, limit, {**SETTINGS[name], "after": gathered[-1][5]})
        assert more
        gathered += more
    assert gathered == whole
    assert page(library, limit, {**SETTINGS[name], "after": whole[-1][5]}) == []


def test_an_offset_counts_from_the_cursor(library: Database) -> None:
    whole = page(library, 20, {})
    assert page(library, 3, {"after": whole[4][5], "offset": 2}) == whole[7:10]


def test_a_cursor_whose_row_is_gone_keeps_its_place(library: Database) -> None:
    options = {"weights": {"lexical": 0}, "dedup": "off"}
    whole = page(library, 40, options)
    with library.connection.transaction(force_rollback=True):
        document = whole[5][5]["document_id"]
        library.rows("SELECT delete_document(%s::bigint)", document)
        left = [row[1] for row in whole[6:] if row[5]["document_id"] != document]
        found = page(library, 5, {**options, "after": whole[5][5]})
    assert [row[1] for row in found] == left[:5]


@pytest.mark.parametrize(
    "after", [{"score": 1}, {"document_id": 1, "chunk_index": 0}, {"score": 0.5, "document_id": 3}]
)
def test_half_a_cursor_is_an_error(library: Database, after: dict[str, Any]) -> None:
    error = library.error(
        "SELECT * FROM hybrid_search('deploy', options => %s, query_embedding => %s)",
        json.dumps({"after": after}),
        vector_of("deploy"),
    )
    assert error.sqlstate == "22023"
    assert str(error.message_primary).startswith('options: "after" is {')
    assert error.message_hint


def test_a_cursor_carries_the_depth_of_its_first_page(library: Database) -> None:
    """Whatever is set meanwhile; a literal profile's own rule (over_fetch) stays."""
    options = {"candidate_depth": 12}
    whole = page(library, 20, options)
    assert len(whole) == 12
    cursor = whole[4][5]
    assert cursor["depth"] == 12
    assert page(library, 20, {"after": cursor}) == whole[5:]
    with library.connection.transaction(force_rollback=True):
        library.rows("SELECT set_setting('candidate_depth', '40')")
        assert page(library, 20, {"after": cursor}) == whole[5:]
    assert page(library, 20, {"after": cursor, "candidate_depth": 12}) == whole[5:]


@pytest.mark.parametrize(
    ("depth", "options"), [(0, {}), (10_001, {}), (2.5, {}), (12, {"candidate_depth": 40})]
)
def test_a_cursors_depth_that_cannot_be(
    library: Database, depth: float, options: dict[str, Any]
) -> None:
    after = {**page(library, 1, {})[0][5], "depth": depth}
    error = library.error(
        "SELECT * FROM hybrid_search('deploy', options => %s)",
        json.dumps({**options, "after": after}),
    )
    assert error.sqlstate == "22023"
    assert str(depth) in str(error.message_primary)
    assert error.message_hint


def test_a_page_beyond_the_depth_names_the_option(library: Database) -> None:
    """By offset, by a cursor, and where a literal profile has a rule of its own."""
    found = page(library, 12, {"candidate_depth": 12})
    for options, hint in (
        ({"candidate_depth": 12, "offset": 10}, "Raise the option candidate_depth."),
        (
            {"after": found[-1][5]},
            "Raise the option candidate_depth and begin again without after.",
        ),
        ({"over_fetch": {"factor": 0.5}}, "Raise the option over_fetch."),
    ):
        notices: list[tuple[str | None, str | None]] = []

        def note(notice: Any, notices: list[Any] = notices) -> None:
            notices.append((notice.message_primary, notice.message_hint))

        library.connection.add_notice_handler(note)
        page(library, 10, options)
        library.connection.remove_notice_handler(note)
        assert [one for _, one in notices] == [hint]
        assert "are not found" in str(notices[0][0])


def test_scores_do_not_depend_on_the_page(library: Database) -> None:
    for options in SETTINGS.values():
        scores = {row[1]: row[2:5] for row in page(library, 60, options)}
        assert {row[1]: row[2:5] for row in page(library, 2, options)}.items() <= scores.items()


def test_literal_profiles_fetch_by_the_limit(library: Database) -> None:
    def depth(limit: int) -> int:
        told = library.value(
            "SELECT search_explain(%s, %s, profile => 'gno', query_embedding => %s)",
            QUERY,
            limit,
            vector_of(QUERY),
        )
        return next(stage["rows"] for stage in told["stages"] if stage["name"] == "vector")

    assert (depth(3), depth(10)) == (6, 20)
