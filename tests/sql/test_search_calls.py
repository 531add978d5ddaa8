"""How much a warm search asks of the server: routines that it calls, statements that it runs."""

import psycopg
import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

MOST_CALLS, MOST_STATEMENTS = 9, 10
SEARCH = "SELECT source_key FROM hybrid_search(%s, options => %s, query_embedding => %s)"
CALLED = """
    SELECT p.proname, pg_stat_get_xact_function_calls(p.oid) AS calls
    FROM pg_proc AS p
    WHERE p.pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)
        AND pg_stat_get_xact_function_calls(p.oid) > 0
"""
OPTIONS = [
    '{"mode": "fast"}',
    '{"mode": "fast", "fusion": "rrf"}',
    '{"mode": "fast", "fuzzy": "off", "dedup": "off"}',
]


@pytest.fixture
def library(committed: Database) -> Database:
    committed.rows("SELECT add_collection('c', 'english')")
    texts = [f"a red fox and {number} hounds" for number in range(30)]
    add_documents(committed, "c", [(str(n), "", text) for n, text in enumerate(texts)])
    add_space(committed)
    embed_waiting(committed)
    committed.rows("ANALYZE")
    return committed


def search(library: Database, query: str, options: str) -> None:
    assert len(library.rows(SEARCH, query, options, vector_of(query))) == 10


@pytest.mark.parametrize("options", OPTIONS)
def test_a_warm_search_calls_few_routines(library: Database, options: str) -> None:
    library.rows("SET track_functions = 'all'")
    for _ in range(3):
        search(library, "red hounds", options)
    with library.connection.transaction():
        before = dict(library.rows(CALLED))
        search(library, "red fox", options)
        called = {name: calls - before.get(name, 0) for name, calls in library.rows(CALLED)}
    assert min(called[name] for name in ("hybrid_search", "_search", "_run_search")) == 1
    assert sum(called.values()) <= MOST_CALLS, called


def statements(library: Database, options: str) -> list[str]:
    """Return how each statement of a warm search begins, as auto_explain tells it.

    They are those of the program and of PL bodies.
    """
    for _ in range(3):
        search(library, "red hounds", options)
    for setting in ("log_min_duration = 0", "log_nested_statements = on", "log_level = notice"):
        library.rows(f"LOAD 'auto_explain'; SET auto_explain.{setting}")
    library.notices.clear()
    search(library, "red fox", options)
    library.rows("SET auto_explain.log_min_duration = -1")
    told = [message for _, message in library.notices if message and message.startswith("duration")]
    nested = [message for message in told if "FROM hybrid_search(" not in message]
    assert len(told) == len(nested) + 1  # the search itself
    return [" ".join(one.partition("Query Text:")[2].split()[:9]) for one in nested]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_warm_search_runs_few_statements(library: Database, options: str) -> None:
    nested = statements(library, options)
    assert 0 < len(nested) <= MOST_STATEMENTS, "\n".join(nested)


# Stages that a search goes without by default, and what is told to those who ask.
OF_FEW = """
DO LANGUAGE plpython3u $$
import sys
few = ["answers.assemble", "graph.walk", "models.embedding", "models.expansion", "search.blend"]
few += [f"search.{name}" for name in ("experiment", "graph", "report", "rules", "trace")]
plpy.notice([name for name in few if f"pgblend.plpy.{name}" in sys.modules])
$$
"""


def test_a_first_search_loads_no_module_of_few_searches(library: Database) -> None:
    with psycopg.connect(library.url, autocommit=True) as connection:
        other = Database(connection)
        search(other, "red hounds", OPTIONS[0])
        other.rows(OF_FEW)
        assert [message for _, message in other.notices][-1] == "[]"


def test_an_experiment_costs_other_profiles_nothing(library: Database) -> None:
    """A search asks the same as before, but by the profile of the experiment."""
    statements(library, OPTIONS[0])  # a session asks once how the query's words are written
    before = statements(library, OPTIONS[0])
    library.rows("SELECT set_setting('log_address', '\"localhost:9\"')")
    logged = statements(library, OPTIONS[0])
    library.rows("SELECT start_experiment('code', 'gno')")
    assert statements(library, OPTIONS[0]) == logged
    library.rows("SELECT stop_experiment('code'); SELECT start_experiment('balanced', 'code')")
    assert len(statements(library, OPTIONS[0])) > len(logged)
    library.rows("SELECT stop_experiment('balanced'); SELECT reset_setting('log_address')")
    assert statements(library, OPTIONS[0]) == before
