"""What a reader may pass is bounded: answered in little time, or refused by a named limit."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.catalogue import granted_to
from support.database import Database, add_documents
from support.raw_server import RawServer, http_answer

# Milliseconds of processor time that one refusal or answer may take.
MOST_MS = 250
PATIENT = '{"mode": "fast", "timeouts_ms": {"lexical": 60000, "total": 60000}}'
RAISED = {"query_characters": 10**6, "query_operators": 10**6, "query_words": 10**6}


def operators(count: int) -> dict[str, str]:
    """Queries of so many operators, each of another kind."""
    numbers = range(count)
    return {
        "alternatives": " or ".join(f"w{i}" for i in range(count + 1)),
        "phrases": " ".join(f'"w{i} x"' for i in numbers),
        "exclusions": "fox " + " ".join(f"-w{i}" for i in numbers),
        "all": " or ".join(f'"w{i} fox" -z{i}' for i in range(count // 3 + 1)),
        "empty phrases": '"" ' * count,
    }


@pytest.fixture(scope="module")
def library(module_connection: psycopg.Connection) -> Database:
    database = Database(module_connection)
    database.rows("SELECT add_collection('c')")
    add_documents(database, "c", [("one", "", "a red fox"), ("two", "", "a brown fox")])
    database.rows("SELECT lexical_search('fox')")  # compiles
    return database


@pytest.fixture
def raise_limits(library: Database) -> Iterator[Callable[..., None]]:
    def set_limits(**limits: int) -> None:
        library.rows("SELECT set_setting('limits', %s)", Jsonb(limits))

    yield set_limits
    library.rows("SELECT reset_setting('limits')")


def processor_ms(db: Database) -> float:
    """Milliseconds that the session's server process has computed so far."""
    path = Path(f"/proc/{db.connection.info.backend_pid}/schedstat")
    return int(path.read_text().split()[0]) / 1e6


def cost_ms(db: Database, query: str, *parameters: Any) -> float:
    """Processor time of a statement, whatever comes of it."""
    before = processor_ms(db)
    with suppress(psycopg.Error):
        db.rows(query, *parameters)
    return processor_ms(db) - before


@pytest.mark.parametrize("kind", operators(1))
@pytest.mark.parametrize("function", ["hybrid_search", "lexical_search", "fuzzy_search"])
def test_operators_are_bounded(library: Database, function: str, kind: str) -> None:
    search = f"SELECT * FROM {function}(%s)"
    error = library.error(search, operators(10_000)[kind])
    assert error.sqlstate == "22023"
    assert "operators (phrases, exclusions, or): expected at most 200" in error.message_primary
    assert "query_operators" in error.message_hint
    assert cost_ms(library, search, operators(10_000)[kind]) < MOST_MS
    assert cost_ms(library, search, operators(200)[kind]) < MOST_MS


def test_each_or_is_an_operator(library: Database) -> None:
    """A query may have 200 operators."""
    search = "SELECT source_key FROM lexical_search(%s)"
    assert library.column(search, " or ".join(["fox"] * 201)) == ["one", "two"]
    assert library.error(search, " or ".join(["fox"] * 202)).sqlstate == "22023"


@pytest.mark.slow
@pytest.mark.parametrize("kind", operators(1))
def test_time_grows_with_operators(
    library: Database, raise_limits: Callable[..., None], kind: str
) -> None:
    """Where an admin allows as many, ten times as many take at most twelve times as long.

    Both are measured one after the other, so that a slow minute of the machine counts for both.
    """
    raise_limits(**RAISED)
    parse = "SELECT pgblend._parse_query(%s, 'english')"
    ratios = []
    for _ in range(7):
        few, many = (cost_ms(library, parse, operators(count)[kind]) for count in (1_000, 10_000))
        ratios.append(many / few)
    assert median(ratios) <= 12


@pytest.mark.parametrize(
    "call",
    [
        "_mmr_select(array_fill(1.0::float8, '{10001}'), NULL, 0.5, 10, 10)",
        "_drop_duplicates(array_fill('a'::text, '{10001}'), NULL, NULL, NULL, NULL, 1, 1, 1, 2)",
        "_drop_duplicates(NULL, NULL, NULL, NULL, array_fill('a'::text, '{10001}'), 1, 1, 1, 2)",
    ],
)
def test_private_routines_whose_time_grows_with_a_square_are_bounded(
    library: Database, call: str
) -> None:
    error = library.error(f"SELECT pgblend.{call}")
    assert (error.sqlstate, "array_items" in str(error.message_hint)) == ("22023", True)


@pytest.mark.parametrize(
    ("limit", "filter_"),
    [
        ("filter_conditions", {"and": [{"a": 1}] * 201}),
        ("filter_values", {"or": [{"not": {"a": {"in": [*range(1001)]}}}]}),
    ],
)
def test_filters_are_bounded_by_settings(
    library: Database, raise_limits: Callable[..., None], limit: str, filter_: dict[str, Any]
) -> None:
    search = "SELECT * FROM hybrid_search('fox', filter => %s)"
    error = library.error(search, Jsonb(filter_))
    assert (error.sqlstate, limit in str(error.message_hint)) == ("22023", True)
    raise_limits(**{limit: 2_000})
    library.rows(search, Jsonb(filter_))


def test_alternatives_beyond_the_default_are_searched_where_allowed(
    library: Database, raise_limits: Callable[..., None]
) -> None:
    raise_limits(**RAISED)
    query = " or ".join(f'"w{i} x"' for i in range(1_000)) + ' or "red fox"'
    search = "SELECT source_key FROM lexical_search(%s, options => %s)"
    assert library.column(search, query, PATIENT) == ["one"]


@pytest.mark.parametrize("function", ["hybrid_search", "lexical_search", "fuzzy_search"])
@pytest.mark.parametrize("script", ["w{} ", "w{}-", "w{},"])
def test_words_are_bounded(library: Database, function: str, script: str) -> None:
    query = "".join(script.format(i) for i in range(10_000))
    error = library.error(f"SELECT * FROM {function}(%s)", query)
    assert (error.sqlstate, "query_words" in str(error.message_hint)) == ("22023", True)
    assert cost_ms(library, f"SELECT * FROM {function}(%s)", query) < MOST_MS


def test_scripts_without_word_spaces_have_words(library: Database) -> None:
    query = "".join(map(chr, range(0x4E00, 0x4E00 + 5_000)))
    assert "query_words" in str(
        library.error("SELECT * FROM hybrid_search(%s)", query).message_hint
    )


def test_a_limit_can_be_lowered(library: Database, raise_limits: Callable[..., None]) -> None:
    raise_limits(query_characters=150)
    error = library.error("SELECT * FROM hybrid_search(%s)", "x" * 151)
    assert error.message_primary == "the query has 151 characters: expected at most 150"
    assert (
        library.error("SELECT set_setting('limits', '{\"array_items\": 99}')").sqlstate == "22023"
    )


NUMBERS = "ARRAY(SELECT g FROM generate_series(1, 1000000) AS g)"
TEXTS = "ARRAY(SELECT 'document:' || g FROM generate_series(1, 100000) AS g)"
LONG = "repeat('x ', 5000000)"
DEEP = "(repeat('{\"not\": ', 2000) || '{\"a\": 1}' || repeat('}', 2000))::jsonb"
DEEP_OPTION = (
    "('{\"graph\": ' || repeat('{\"edge_types\": ', 2000) || '1' || repeat('}', 2001))::jsonb"
)
WIDE = "jsonb_build_object('rerank_scores', (SELECT jsonb_object_agg(g, 0.5)"
WIDE += " FROM generate_series(1, 100000) AS g))"
DOTS = "jsonb_build_object('a' || repeat('.a', 50000), 1)"
MANY = "jsonb_build_object('a', (SELECT jsonb_agg(g) FROM generate_series(1, 100000) AS g))"
EMPTY = "jsonb_build_object('and', (SELECT jsonb_agg('{}'::jsonb) FROM generate_series(1, 20000)))"

# What each argument is worst at; all functions take these by the argument's name.
BY_NAME: dict[str, tuple[str, ...]] = {
    "query": (LONG,),
    "collections": (TEXTS,),
    "filter": (DEEP, DOTS, EMPTY, WIDE),
    "options": (DEEP_OPTION, WIDE),
    "profile": (LONG,),
    "filters": ("ARRAY(SELECT '{}'::jsonb FROM generate_series(1, 100000))",),
    "keys": (TEXTS, "ARRAY['a' || repeat('.a', 50000)]"),
    "ranks": (f"({NUMBERS})::integer[]",),
    "scores": (f"({NUMBERS})::double precision[]",),
    "weights": (f"({NUMBERS})::double precision[]",),
    "texts": (TEXTS,),
    "passages": (TEXTS,),
    "seed_nodes": (TEXTS,),
    "edge_types": (TEXTS,),
    "chunk_ids": (f"({NUMBERS})::bigint[]",),
    "document_ids": (f"({NUMBERS})::bigint[]",),
    "start_offsets": (f"({NUMBERS})::integer[]",),
    "end_offsets": (f"({NUMBERS})::integer[]",),
    "content_hashes": (TEXTS,),
    "contents": (TEXTS,),
    "embeddings": ("(SELECT array_agg('[1]'::vector) FROM generate_series(1, 100000))",),
    # Texts that name one thing: what is no name is refused.
    "document": (LONG,),
    "space": (LONG,),
    "node": (LONG,),
    "direction": (LONG,),
    "language": (LONG,),
    "method": (LONG,),
    "name": (LONG,),
    "collection": (LONG,),
    "source_key": (LONG,),
    "output_format": (LONG,),
    # Checked against a schema, or for each key.
    "buckets": (DEEP, WIDE, MANY),
    "bonus": (DEEP, WIDE),
    "blend": (DEEP, WIDE),
    "parameters": (DEEP, WIDE),
}
# Bounded by their types.
FIXED = {"query_embedding"}
# What other arguments must be for a function to come to the one that is tried.
NEEDED = {
    "query": "'fox'",
    "keys": "ARRAY['a']",
    "node": "'document:1'",
    "document": "'one'",
    "ranks": "'{1}'",
    "scores": "'{1}'",
    "texts": "'{x}'",
    "passages": "'{x}'",
    "chunk_ids": "'{1}'",
    "name": "'k1'",
    "collection": "'c'",
    "source_key": "'one'",
    "embeddings": "NULL",
    "fused": "1",
    "rerank": "1",
    "rank": "1",
    "bonus": "NULL",
}
# An error that says what is wrong with the argument, or which stage cannot run without a model.
TOLD = {"22023", "42704", "PB001", "PB002", "PB003", "PB008", "PB011"}


def arguments(db: Database) -> list[tuple[Any, ...]]:
    """Function, argument and required ones, of each that a reader can pass any length of."""
    return db.rows(
        f"""
        SELECT p.proname, a.name, (
            SELECT array_agg(n.name ORDER BY n.place)
            FROM unnest(p.proargnames) WITH ORDINALITY AS n (name, place)
            WHERE n.place <= p.pronargs - p.pronargdefaults)
        FROM pg_proc AS p
        CROSS JOIN unnest(p.proargnames, p.proargtypes::oid[]) AS a (name, type)
        INNER JOIN pg_type AS t ON t.oid = a.type
        WHERE p.pronamespace = 'blend'::regnamespace AND p.proname !~ '^_'
            AND {granted_to("pgblend_reader")}
            AND t.typlen = -1
        ORDER BY 1, 2
        """
    )


def test_every_argument_of_readers_is_tried(library: Database) -> None:
    names = {name for _, name, _ in arguments(library)}
    assert names - FIXED == BY_NAME.keys()


@pytest.mark.slow
def test_no_argument_holds_a_core(library: Database) -> None:
    """Each refusal comes before work: beside what it takes to make the argument."""
    made = {
        text: cost_ms(library, f"SELECT ({text})::text") for text in set(sum(BY_NAME.values(), ()))
    }
    wrong: list[tuple[object, ...]] = []
    for function, name, required in arguments(library):
        if name in FIXED:
            continue
        for text in BY_NAME[name]:
            given = {needed: NEEDED[needed] for needed in required or () if needed in NEEDED}
            given[name] = text
            call = ", ".join(f"{key} => {value}" for key, value in given.items())
            before = processor_ms(library)
            try:
                library.rows(f"SELECT * FROM blend.{function}({call})")
            except psycopg.Error as error:
                if error.sqlstate not in TOLD or "RecursionError" in str(error):
                    wrong.append((function, name, error.sqlstate, str(error)[:200]))
            spent = processor_ms(library) - before
            if spent > MOST_MS + 3 * made[text]:
                wrong.append((function, name, spent, made[text]))
    assert wrong == []


def test_a_gateway_s_answer_is_bounded(
    library: Database, raise_limits: Callable[..., None]
) -> None:
    raise_limits(answer_bytes=100_000)
    large = json.dumps({"data": "x" * 50_000_000}).encode()
    with RawServer(lambda _: http_answer(large)) as server:
        library.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", server.url)
        try:
            before = peak_kilobytes(library)
            error = library.error("SELECT embed_text(ARRAY['x'], timeout_ms => 60000)")
            grown = peak_kilobytes(library) - before
        finally:
            library.rows("SELECT reset_setting('gateway_url')")
    assert error.sqlstate == "PB008"
    assert "more than 100000 bytes" in error.message_primary
    assert "answer_bytes" in error.message_hint
    assert grown < 20_000


def peak_kilobytes(db: Database) -> int:
    status = Path(f"/proc/{db.connection.info.backend_pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])
