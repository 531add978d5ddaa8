"""Wrong answers of models, for every function that asks one: rows with degraded, or PB008."""

import json
import re
from collections.abc import Iterator

import psycopg
import pytest

from support.backend import held
from support.database import Database
from support.model_library import QUERY, WEAK, fill, use_models
from support.model_provider import Behaviour, GatewayProcess, ModelProvider
from support.program import modules_of
from support.raw_server import RawServer, http_answer

DIMENSIONS = 384  # of the library's embedding space
DEEP = "[" * 90_000 + "]" * 90_000


def answer(part: object, *, count: int | None = None) -> str:
    """Return JSON that is an answer of each kind of model, with the same part in all of them."""
    text = json.dumps(part) if not isinstance(part, str) or part[:1] not in '"[' else part
    rows = ", ".join(
        f'{{"index": {i}, "embedding": {text}, "relevance_score": {text}}}'
        for i in range(count if count is not None else 1)
    )
    return (
        f'{{"data": [{rows}], "results": [{rows}], "lexicalQueries": {text}, "hyde": {text},'
        f' "choices": [{{"message": {{"content": {text}}}}}]}}'
    )


def numbers(*first: object, size: int = DIMENSIONS) -> list[object]:
    return [*first, *[0.5] * (size - len(first))]


def raw(number: str) -> str:
    """Return a vector with a number as JSON text, whatever Python would make of it."""
    return json.dumps(numbers(size=DIMENSIONS - 1))[:-1] + f", {number}]"


WRONG: dict[str, str | bytes] = {
    "fewer dimensions": answer(numbers(size=3)),
    "more dimensions": answer(numbers(size=DIMENSIONS + 1)),
    "no dimensions": answer([]),
    "a vector as text": answer('"[1, 2]"'),
    "numbers as texts": answer(numbers("0.5")),
    "a character 0": answer(numbers("a\0b")),
    "half a surrogate pair": answer('"\\ud800"'),
    "null for a vector": answer(None),
    "null among the numbers": answer(numbers(None)),
    "true among the numbers": answer(numbers(True)),
    "a list among the numbers": answer(numbers([0.5])),
    "an object for a vector": answer({"0": 0.5}),
    "the zero vector": answer([0] * DIMENSIONS),
    "1e300": answer(raw("1e300")),
    "1e999": answer(raw("1e999")),
    "a whole number of 4000 digits": answer(raw("1" + "0" * 4000)),
    "NaN": answer(raw("NaN")),
    "empty data": answer([0.5], count=0),
    "two vectors for one text": answer(numbers(), count=9),
    "deep JSON": answer(DEEP),
    "JSON of 900 levels": answer("[" * 900 + "]" * 900),
    "a list": "[1, 2]",
    "no JSON": "<html>",
    "not UTF-8": b'{"data": "\xff\xfe"}',
}
OPTIONS = json.dumps({"mode": "thorough", **WEAK})
RERANK = json.dumps({"rerank": "on"})
LAST = "SELECT jsonb_array_elements_text(last_search() -> 'degraded')"
# What each function is called with, and what then gives its `degraded`; and what these must name.
SEARCHES: dict[str, tuple[str, str, set[str]]] = {
    name: (f"SELECT * FROM {name}('{QUERY}'{more}, options => '{OPTIONS}')", LAST, {"vector"})
    for name, more in {
        "hybrid_search": "",
        "search_explain": "",
        "search_facets": ", '{$kind}'",
        "rerank_candidates": "",
        "get_context": "",
        "ask": ", answer => true",
    }.items()
} | {
    "search_diagnose": (
        f"SELECT search_diagnose('{QUERY}', 'wine', options => '{OPTIONS}')", LAST, {"vector"}
    ),
    "lexical_search": (
        f"SELECT * FROM lexical_search('production', options => '{RERANK}')", LAST, {"rerank"}
    ),
    "fuzzy_search": (
        f"SELECT * FROM fuzzy_search('prodution', options => '{RERANK}')", LAST, {"rerank"}
    ),
    "evaluate_queries": (
        "SELECT evaluate_queries(pgblend._start_run('s', 'hybrid', NULL, '{}', 10))",
        "SELECT unnest(degraded) FROM pgblend_data.evaluation_result", {"vector"},
    ),
}  # fmt: skip
# What needs the answer itself fails, and says what is wrong with it.
REQUIRED = {
    "vector_search": f"SELECT * FROM vector_search('{QUERY}')",
    "graph_search": f"SELECT * FROM graph_search(query => '{QUERY}')",
    "embed_text": "SELECT embed_text('{a}')",
    "expand_query": "SELECT expand_query('a')",
    "rerank_passages": "SELECT * FROM rerank_passages('a', '{b}')",
    "create_embedding_space": "SELECT create_embedding_space('other', 'm', 384)",
    "probe_embedding_space": "SELECT * FROM probe_embedding_space('test_space')",
}
# The first compare stored vectors with each other. The others are named in errors of each other;
# only attaching compares a column's vectors with the model's, and goes on without (a WARNING).
# blend_scores is of the module that asks for the scores.
ASKS_NONE = {
    "blend_scores",
    *("audit_recall", "tune_embedding_space", "warm"),
    *("attach_table", "attached_vectors", "check_attached_tables", "detach_table", "fill_table"),
    *("probe_attached_table", "remove_collection"),
}
# An expansion is of texts or none; other dimensions are what these two ask about.
OTHER_SIZE = {"fewer dimensions", "more dimensions"}
RIGHT_FOR = {
    "expand_query": {
        "null for a vector", "half a surrogate pair", "a vector as text", "no dimensions",
        "not UTF-8",
    },
    "create_embedding_space": OTHER_SIZE,
    "probe_embedding_space": OTHER_SIZE,
}  # fmt: skip


@pytest.fixture(scope="module")
def liar() -> Iterator[RawServer]:
    """A gateway that answers whatever it is told, to every question."""
    with RawServer(lambda _: http_answer(b"{}")) as server:
        yield server


@pytest.fixture(scope="module")
def filled(module_connection: psycopg.Connection, liar: RawServer) -> Database:
    db = Database(module_connection)
    fill(db)
    db.rows("SELECT add_judged_set('s', 'c'), record_judgement('s', %s, 'deploy', 1)", QUERY)
    for name, value in {
        "gateway_url": liar.url,
        "expansion_model": "m",
        "rerank_model": "m",
        "answer_model": "m",
    }.items():
        db.rows("SELECT set_setting(%s, to_jsonb(%s::text))", name, value)
    return db


def answering(liar: RawServer, wrong: str) -> None:
    """Let the gateway give a wrong answer to every question."""
    body = WRONG[wrong]
    given = http_answer(body.encode() if isinstance(body, str) else body)
    liar.respond = lambda _: given


@pytest.mark.fault(
    "24 wrong answers of a model, in searches", "rows, and degraded says what was wrong"
)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_search_goes_on(filled: Database, liar: RawServer, wrong: str) -> None:
    answering(liar, wrong)
    for name, (call, degraded, named) in SEARCHES.items():
        with filled.connection.transaction(force_rollback=True):
            assert filled.rows(call), name
            notes = filled.column(degraded)
            assert {note.partition(":")[0] for note in notes} >= named, name
            assert "plpy" not in str(notes)
    assert held(filled)[0] == 0


@pytest.mark.fault(
    "24 wrong answers, where they are needed", "an error of SQLSTATE PB008 with a hint"
)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_needs_the_answer_says_what_is_wrong(
    filled: Database, liar: RawServer, wrong: str
) -> None:
    answering(liar, wrong)
    for name, call in REQUIRED.items():
        if wrong in RIGHT_FOR.get(name, ()):
            continue
        error = filled.error(call)
        message = str(error.message_primary)
        assert (error.sqlstate, bool(error.message_hint)) == ("PB008", True), (name, message)
        assert "gateway" in message or "the answer from" in message
        assert "plpy" not in message
    assert held(filled)[0] == 0


@pytest.mark.fault("24 wrong answers, strict", "an error of SQLSTATE PB008")
@pytest.mark.parametrize("wrong", ["fewer dimensions", "the zero vector", "deep JSON"])
def test_strict_is_an_error(filled: Database, liar: RawServer, wrong: str) -> None:
    answering(liar, wrong)
    error = filled.error("SELECT * FROM hybrid_search('a', options => '{\"strict\": true}')")
    assert (error.sqlstate, str(error.message_primary)[:8]) == ("PB008", "vector: ")


@pytest.mark.fault("24 wrong answers, words that are nowhere", "no rows, and degraded says why")
@pytest.mark.parametrize("wrong", ["fewer dimensions", "the zero vector", "deep JSON"])
def test_words_that_are_nowhere(filled: Database, liar: RawServer, wrong: str) -> None:
    """The nearest by vectors would come instead."""
    answering(liar, wrong)
    with filled.connection.transaction(force_rollback=True):
        assert filled.rows("SELECT * FROM lexical_search('xylophone')") == []
        (note,) = filled.column(LAST)
        assert note.startswith("vector: ")


def own_modules(body: str) -> list[str]:
    """Return the sources that a body imports, but the port by which all ask the server."""
    return [source for name, source in modules_of(body).items() if name != "base.session"]


def test_every_function_that_asks_a_model_is_above(filled: Database) -> None:
    bodies = dict(
        filled.rows(
            "SELECT proname::text, string_agg(pg_get_functiondef(oid), '') FROM pg_proc"
            " WHERE pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)"
            " AND proname NOT LIKE '\\_program%%' GROUP BY 1"
        )
    )
    calls = {
        name: set(re.findall(r"(\w+)\(", "".join([body, *own_modules(body)]))) - {name}
        for name, body in bodies.items()
    }
    asking: set[str] = set()
    more = {"_post_to_gateway", "send_model"}
    while more:
        asking |= more
        more = {name for name in calls if calls[name] & asking} - asking
    public = {name for name in asking & calls.keys() if not name.startswith("_")}
    assert public - ASKS_NONE == SEARCHES.keys() | REQUIRED.keys()


@pytest.mark.fault(
    "a model whose dimensions changed, behind the gateway", "rows, or the documented error"
)
def test_a_model_whose_dimensions_have_changed(
    filled: Database,
    liar: RawServer,
    session_gateway: GatewayProcess,
    model_provider: ModelProvider,
) -> None:
    """Behind the real gateway."""
    with filled.connection.transaction(force_rollback=True):
        use_models(filled, session_gateway, model_provider)
        model_provider.behaviours["embed"] = Behaviour(dimensions=3)
        for name, (call, degraded, named) in SEARCHES.items():
            assert filled.rows(call), name
            if "vector" in named:
                notes = "".join(filled.column(degraded))
                assert "the gateway gave 3 dimensions for model" in notes, name
        error = filled.error(REQUIRED["vector_search"])
        assert error.sqlstate == "PB008"
        assert str(error.message_hint).startswith("The model behind the name has changed")
