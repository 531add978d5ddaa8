"""What a coordinator has in the place of one node's routines: nothing reads its own store."""

import pytest

from pgblend.plpy.shards.merged_answers import ROUTINES
from pgblend.plpy.shards.merged_answers import VIEWS as RELAYED_VIEWS
from pgblend.sql import SourceObject, code_of, render, source_objects
from pgblend.sql.coordinator import (
    ROUTED,
    STORE_TABLES,
    coordinator_objects,
    reaching_store,
    stub_objects,
    touches_store,
)
from support.database import Database
from support.shards import Scale

STUBS = [one.name for one in stub_objects()]
OBJECTS = source_objects()
COORDINATOR = coordinator_objects(OBJECTS)
VIEWS = {one.name for one in OBJECTS if "\nCREATE OR REPLACE VIEW " in one.text}
REFUSAL = "does not work on a coordinator of shards yet"
REFUSED = {one.name for one in COORDINATOR if REFUSAL in one.text}
SEARCHES = {"fuzzy_search", "hybrid_search", "lexical_search", "search_explain", "vector_search"}
ELSEWHERE = "documents are on the shards: see docs/shards.md"

_SIGNATURES = """
    SELECT p.pronamespace::regnamespace || '.' || p.proname AS name,
        pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result
    FROM pg_proc AS p
    WHERE p.pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)
    UNION ALL
    SELECT 'view ' || c.relname, string_agg(format('%s %s', a.attname, a.atttypid::regtype), ', '
        ORDER BY a.attnum), ''
    FROM pg_class AS c INNER JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
    WHERE c.relnamespace = 'blend'::regnamespace AND c.relkind = 'v'
    GROUP BY c.relname
"""


def without(stub: str) -> list[SourceObject]:
    """Return what a coordinator would have if a stub had been forgotten."""
    own = {one.name: one for one in OBJECTS}
    return [own.get(one.name, one) if one.name == stub else one for one in COORDINATOR]


def test_what_is_granted_reaches_a_store_table_through_a_port_only() -> None:
    assert not reaching_store(COORDINATOR)
    assert not REFUSED & (SEARCHES | ROUTINES.keys() | {*ROUTED})
    assert {"_import_links", "_store_staged"} <= REFUSED
    # What users call works, but that documents have readers of their own: that is refused.
    public = {name for name in REFUSED if not name.startswith("_")}
    assert public == {"grant_document", "revoke_document", "set_document_readers"}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("stub", "found"),
    [
        ("_run_search", SEARCHES),
        ("_create_embedding_table", {"create_embedding_space"}),
        ("_drop_embedding_table", {"drop_embedding_space"}),
        ("_empty_collection", {"remove_collection"}),
        ("_most_chunks", {"create_embedding_space"}),
        ("_diagnosis", {"search_diagnose"}),
        ("add_edge", {"add_edge"}),
        ("_resolve_links", {"resolve_links"}),
    ],
)
def test_a_stub_that_was_forgotten_is_found(stub: str, found: set[str]) -> None:
    assert stub in STUBS
    assert reaching_store(without(stub)) >= found


def test_routes_that_were_forgotten_are_found() -> None:
    own = {one.name: one for one in OBJECTS}
    naive = [own[one.name] if one.name in ROUTED else one for one in COORDINATOR]
    public = {name for name in ROUTED if not name.startswith("_")}
    assert reaching_store(naive) >= {*public, "forget_document"}


def test_refusals_that_were_forgotten_are_found() -> None:
    own = {one.name: one for one in OBJECTS}
    naive = [own[one.name] if one.name in REFUSED else one for one in COORDINATOR]
    assert reaching_store(naive) == REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUTINES)
def test_a_relay_that_was_forgotten_is_found(name: str) -> None:
    own = {one.name: one for one in OBJECTS}
    naive = [own[one.name] if one.name == name else one for one in COORDINATOR]
    assert reaching_store(naive)


def test_views_of_the_store_are_all_relayed() -> None:
    code = code_of(OBJECTS)[1]
    touching = {name for name in VIEWS if touches_store(code[name])}
    assert {name for name in touching if not name.startswith("_")} == {*RELAYED_VIEWS}


def test_store_tables_are_all_but_the_front(db: Database) -> None:
    """A new table is one or the other: this list says which are the coordinator's own."""
    front = {
        *("access_token", "alembic_version", "attached_table", "calibration", "click"),
        *("collection", "collection_change", "collection_grant", "document_reader"),
        *("embedding_allowance", "embedding_space", "group_secret"),
        *("embedding_worker", "evaluation_result", "evaluation_run", "experiment"),
        *("index_secret", "judged_query", "judged_set", "judgement"),
        *("model_answer", "model_call", "profile", "search_log", "setting"),
        *("setting_history", "shard", "shard_bucket", "shard_copy", "shard_front"),
        *("shard_outbox", "shard_self", "space_bridge"),
    }
    tables = db.column(
        "SELECT c.relname FROM pg_class AS c WHERE c.relkind = 'r'"
        " AND c.relnamespace = 'pgblend_data'::regnamespace"
    )
    assert {*tables} == front | {*STORE_TABLES}


def test_stubs_have_the_signatures_of_the_originals(two_shards: Scale) -> None:
    one, other = (
        {*database.rows(_SIGNATURES)} for database in (two_shards.one, two_shards.coordinator)
    )
    assert one <= other
    assert {name for name, *_ in other - one} == {
        f"pgblend.{name}" for name in [*STUBS, "_count_change", "_refuse_rows"]
        if name.startswith("_") and f"pgblend.{name}" not in {known for known, *_ in one}
    }  # fmt: skip


def test_store_tables_refuse_on_a_coordinator(two_shards: Scale) -> None:
    coordinator = two_shards.coordinator
    for table in [*STORE_TABLES, "embedding_s"]:
        read = coordinator.error(f"SELECT FROM pgblend_data.{table} LIMIT 0")
        assert ELSEWHERE in str(read.message_primary), table
        for change in ("DELETE FROM", "TRUNCATE"):
            assert coordinator.error(f"{change} pgblend_data.{table}"), table
        write = coordinator.error(f"INSERT INTO pgblend_data.{table} DEFAULT VALUES")
        assert "documents are stored on shards" in str(write.message_primary), table


def test_what_does_not_work_yet_says_so(two_shards: Scale) -> None:
    said = two_shards.coordinator.error("SELECT pgblend._load_segments('t')")
    assert said.message_primary == f"_load_segments {REFUSAL}"
    assert "docs/shards.md" in str(said.message_hint)
    bodies = dict(two_shards.coordinator.rows("SELECT proname, prosrc FROM pg_proc"))
    assert all(REFUSAL in bodies[name] for name in REFUSED)


def test_one_node_s_search_on_a_coordinator_is_an_error(two_shards: Scale) -> None:
    """The tables below refuse even where a stub is missing: never rows of an empty store."""
    coordinator = two_shards.coordinator
    script = render()
    start = script.index("CREATE OR REPLACE FUNCTION pgblend._run_search")
    naive = script[start : script.index("$python$;", start)] + "$python$;"
    with coordinator.connection.transaction(force_rollback=True):
        coordinator.connection.execute(naive.encode())
        for function in ("hybrid_search", "lexical_search"):
            said = coordinator.error(f"SELECT * FROM {function}('wine')")
            assert ELSEWHERE in str(said.message_primary)


def test_relays_have_the_arguments_of_their_routines(db: Database) -> None:
    types = (
        "SELECT p.proname, ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) AS t)"
        " FROM pg_proc AS p WHERE p.proname = ANY(%s)"
        " AND p.pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)"
    )
    found = {name: tuple(of_name) for name, of_name in db.rows(types, [*ROUTINES])}
    assert found == {name: tuple(of_name) for name, of_name in ROUTINES.items()}
