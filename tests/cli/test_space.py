"""space: list, create, fill, compare, switch, drop, on a real gateway."""

import json
import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

from support.database import Database
from support.model_provider import ModelProvider

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]


def ok(result: Result) -> Result:
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def spaces(pgblend: Pgblend, parse_valid: ParseValid) -> Callable[[], dict[str, Any]]:
    """What `space list` says, by name."""

    def listed() -> dict[str, Any]:
        found = parse_valid(ok(pgblend("space", "list", "--json")), "space-list")
        return {space["name"]: space for space in found["spaces"]}

    return listed


@pytest.mark.slow
def test_the_building_of_an_index_shows_how_far_it_is(
    pgblend: Pgblend, connection: psycopg.Connection
) -> None:
    connection.execute("SELECT create_embedding_space('many', 'm', 96, probe => false)")
    connection.execute("SELECT add_collection('made')")
    ok(pgblend("space", "index", "many", "--off"))
    connection.execute("SET session_replication_role = replica")
    connection.execute(
        "INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket, content,"
        " kind, own_start, token_count, metadata, text_search_config, lexemes, own_position)"
        " SELECT 1, n, o.id, 0, 'x', 'doc', 0, 1, '{}', 'english', '', 0"
        " FROM generate_series(1, 12000) AS n, pgblend_data.collection AS o"
    )
    connection.execute(
        "INSERT INTO pgblend_data.embedding_many SELECT c.id, 1, c.chunk_index, 1, 0,"
        " ARRAY(SELECT random() + 0 * c.id FROM generate_series(1, 96))::vector"
        " FROM pgblend_data.chunk AS c"
    )
    made = ok(pgblend("space", "index", "many", "--progress-every", "0.1"))
    told = re.findall(r"Vector index of many: (\d+) % \(([\d,]+) of 12,000 vectors\)", made.stderr)
    assert any(0 < int(share) < 100 for share, _ in told), made.stderr
    assert "the index is made" in made.stderr


@pytest.mark.usefixtures("library")
def test_from_the_first_space_to_the_second(
    pgblend: Pgblend,
    parse_valid: ParseValid,
    spaces: Callable[[], dict[str, Any]],
    gateway_connection: psycopg.Connection,
    model_provider: ModelProvider,
) -> None:
    assert spaces() == {}
    model = ["--model", model_provider.model]
    made = ok(pgblend("space", "create", "one", *model))
    assert "384 dimensions, vector" in made.stderr
    ok(pgblend("space", "create", "two", *model, "--storage", "binary"))
    found = spaces()
    assert [(each["active"], each["vectors"], each["waiting"]) for each in found.values()] == [
        (True, 0, 3),
        (False, 0, 3),
    ]
    for option, told in ((["--off"], "no index now"), (["--off"], "none"), ([], "is made")):
        assert told in ok(pgblend("space", "index", "two", *option)).stderr
    for name in ("one", "two"):
        report = parse_valid(ok(pgblend("space", "fill", name, "--json")), "space-fill")
        assert (report["embedded"], report["space"]["waiting"]) == (3, 0)
        assert report["space"]["table_bytes"] > 0
    # What went past the queue is mended as well.
    gateway_connection.execute("DELETE FROM pgblend_data.embedding_two")
    assert spaces()["two"]["missing"] == 3
    refused = pgblend("space", "switch", "two")
    assert refused.exit_code == 1
    assert '3 chunks have no vector in embedding space "two" yet' in refused.stderr
    assert "0 waiting" in ok(pgblend("space", "fill", "two")).stderr
    assert spaces()["two"]["missing"] == 0
    assert "searches use two instead of one" in ok(pgblend("space", "switch", "two")).stderr
    assert ok(pgblend("space", "switch", "two")).stderr == "searches use two\n"
    kept = pgblend("space", "drop", "two", "--yes")
    assert "is the one that searches use" in kept.stderr
    assert pgblend("space", "drop", "one", input="n\n").exit_code == 1
    ok(pgblend("space", "drop", "one", "--yes"))
    assert set(spaces()) == {"two"}
    for option in ([], ["--csv"], ["--md"]):
        assert "binary" in ok(pgblend("space", "list", *option)).stdout
    again = pgblend("space", "drop", "one", "--yes")
    assert again.stderr.startswith("pgblend: error: there is no embedding space 'one'")


@pytest.mark.usefixtures("library", "gateway_connection")
def test_passages_and_queries_get_vectors_as_short_as_the_space(
    pgblend: Pgblend, model_provider: ModelProvider
) -> None:
    short = ["--dimensions", "64", "--active"]
    ok(pgblend("space", "create", "short", "--model", model_provider.model, *short))
    ok(pgblend("space", "fill", "short"))
    found = json.loads(ok(pgblend("query", "ships on the sea", "--fast", "--json")).stdout)
    assert "vector" in found["results"][0]["arms"]
    asked = [body.get("dimensions") for body in model_provider.bodies if "input" in body]
    assert asked == [None, *[64] * (len(asked) - 1)]  # the first tells what the model gives
    assert len(asked) >= 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fill", "nope"], 'there is no embedding space "nope"'),
        (["index", "nope"], 'there is no embedding space "nope"'),
        (["switch", "nope"], 'there is no embedding space "nope"'),
        (["compare", "nope", "one", "--set", "s"], "there is no embedding space 'nope'"),
        (["create", "Big", "--model", "m", "--no-probe"], "space name is 'Big'"),
        (["create", "s", "--model", "m", "--no-probe"], "dimensions is NULL"),
        (["create", "s", "--model", "m"], "no model gateway is set"),
    ],
)
def test_what_cannot_be_done(
    pgblend: Pgblend, connection: psycopg.Connection, arguments: list[str], message: str
) -> None:
    result = pgblend("space", *arguments)
    assert result.exit_code in (1, 5)
    assert message in result.stderr


def test_fill_without_a_gateway(pgblend: Pgblend, connection: psycopg.Connection) -> None:
    ok(pgblend("space", "create", "s", "--model", "m", "--dimensions", "3", "--no-probe"))
    assert "no model gateway is set" in pgblend("space", "fill", "s").stderr
    connection.execute("SELECT set_setting('gateway_url', '\"http://127.0.0.1:9\"')")
    connection.execute("SELECT add_collection('c')")
    connection.execute("SELECT ingest_document('c', 'k', 'text')")
    assert "cannot be reached" in pgblend("space", "fill", "s").stderr


@pytest.fixture
def judged(
    library: list[int], pgblend: Pgblend, gateway_connection: psycopg.Connection
) -> psycopg.Connection:
    """Two judged queries on the library, and two filled spaces."""
    gateway_connection.execute("SELECT add_judged_set('mine', 'library')")
    for query, key in (("ships on the sea", "sea.md"), ("wine of France", "wine.md")):
        gateway_connection.execute("SELECT record_judgement('mine', %s, %s, 1)", [query, key])
    return gateway_connection


@pytest.mark.slow
def test_compare(
    judged: psycopg.Connection,
    pgblend: Pgblend,
    parse_valid: ParseValid,
    model_provider: ModelProvider,
) -> None:
    for name in ("one", "two"):
        ok(pgblend("space", "create", name, "--model", model_provider.model))
        ok(pgblend("space", "fill", name))
    # In the second one the vectors belong to other chunks.
    judged.execute(
        "UPDATE pgblend_data.embedding_two AS e SET embedding = o.embedding"
        " FROM pgblend_data.embedding_one AS o"
        " WHERE o.chunk_id = CASE WHEN e.chunk_id < 3 THEN e.chunk_id + 1 ELSE 1 END"
    )
    command = ["space", "compare", "one", "two", "--set", "mine"]
    found = parse_valid(ok(pgblend(*command, "--json")), "space-compare")
    by_arm = {each["arm"]: each for each in found["comparisons"]}
    assert set(by_arm) == {"vector", "hybrid"}
    assert found["a"]["active"]
    assert not found["b"]["active"]
    ndcg = by_arm["vector"]["metrics"]["nDCG@10"]
    assert ndcg["mean_a"] == 1
    assert ndcg["mean_b"] < 1
    assert ndcg["losses"] > 0
    assert by_arm["hybrid"]["degraded_queries"] == [0, 0]
    options = judged.execute(
        "SELECT options ->> 'space', versions ->> 'embedding_space'"
        " FROM pgblend_data.evaluation_run ORDER BY id"
    ).fetchall()
    assert options == [("one", "one"), ("two", "two")] * 2
    shown = ok(pgblend(*command, "--arm", "vector")).stdout
    assert "nDCG@10" in shown
    assert "hybrid" not in shown


def test_a_set_with_vectors_of_another_model_asks_the_gateway(
    judged: psycopg.Connection, pgblend: Pgblend, model_provider: ModelProvider
) -> None:
    db = Database(judged)
    db.rows("UPDATE pgblend_data.judged_set SET embedding_model = 'mine'")
    db.rows("UPDATE pgblend_data.judged_query SET embedding = '[1,0]'")
    db.rows("SELECT create_embedding_space('mine', 'mine', 2, probe => false)")
    ok(pgblend("space", "create", "theirs", "--model", model_provider.model))
    ok(pgblend("space", "fill", "theirs"))
    model_provider.reset()
    option = ["--option", 'space="theirs"']
    run = ok(pgblend("eval", "run", "--set", "mine", "--arm", "vector", *option, "--json"))
    assert json.loads(run.stdout)["metrics"]["nDCG@10"] == 1
    assert model_provider.requests == 2


def test_each_way_to_mend_it_is_a_hint_of_its_own(pgblend: Pgblend) -> None:
    result = pgblend("space", "create", "s", "--model", "m")
    assert result.exit_code != 0
    hints = [line for line in result.stderr.splitlines() if line.startswith("hint: ")]
    assert len(hints) == 2
    assert hints[0].endswith("pgblend config set gateway_url URL")
    assert "probe => false" in hints[1]


def test_a_reader_learns_no_sizes(
    pgblend: Pgblend, parse_valid: ParseValid, vectors: None, url_as: Callable[..., str]
) -> None:
    result = ok(pgblend("space", "list", "--json", url=url_as("pgblend_reader")))
    (space,) = parse_valid(result, "space-list")["spaces"]
    assert (space["chunks"], space["table_bytes"], space["index_bytes"]) == (0, None, None)
