"""space plan: what a space would take, with a model on a real gateway; nothing is made."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

from pgblend.cli.embed import space_plan as prices
from support.model_provider import Behaviour, ModelProvider

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]
Planned = Callable[..., dict[str, Any]]
CHUNKS = 24


@pytest.fixture
def texts(library: list[int], gateway_connection: psycopg.Connection) -> None:
    """More chunks than a plan makes calls, in a collection of their own, beside the library."""
    gateway_connection.execute("SELECT add_collection('many')")
    for number in range(CHUNKS):
        gateway_connection.execute(
            "SELECT ingest_document('many', %s, %s, title => 'A title')",
            [f"{number}.md", f"Text {number} is about the number {number}."],
        )


@pytest.fixture
def planned(
    pgblend: Pgblend, parse_valid: ParseValid, model_provider: ModelProvider, texts: None
) -> Planned:
    """Plan for the provider's model and return what is printed as JSON."""

    def plan(*options: str) -> dict[str, Any]:
        result = pgblend("space", "plan", "--model", model_provider.model, *options, "--json")
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = parse_valid(result, "space-plan")
        return found

    return plan


def sent(provider: ModelProvider) -> list[str]:
    """Name the texts that the provider was asked for, without what keeps them from caches."""
    return [text.rpartition("\n")[0] for body in provider.bodies for text in body["input"]]


def test_a_plan_of_one_collection(
    planned: Planned, model_provider: ModelProvider, gateway_connection: psycopg.Connection
) -> None:
    model_provider.behaviour = Behaviour(delay_seconds=0.05)
    found = planned("--collection", "many", "--sample", "16")
    told = ("model", "dimensions", "collection", "chunks", "cost_usd", "limit_hours")
    assert [found[name] for name in told] == [model_provider.model, 384, "many", CHUNKS, None, None]
    asked = sent(model_provider)
    assert len(asked) == len(set(asked)) == 17
    assert all(text.startswith("title: A title | text: Text ") for text in asked[1:])
    own = gateway_connection.execute(
        "SELECT sum(token_count) FROM pgblend_data.chunk AS c"
        " WHERE c.collection_id = (SELECT id FROM collections WHERE name = 'many')"
    ).fetchone()
    assert own is not None
    assert found["tokens"] > own[0]  # the titles
    hours = found["embedding_hours"]
    assert hours["low"] <= hours["mean"] <= hours["high"]
    # Two calls of two chunks at a time, each of which took so long at least.
    assert hours["mean"] * 3600 >= 0.99 * CHUNKS / 4 * 0.05
    assert {**found["sample"], "seconds": 0} == dict(chunks=16, refused=0, calls=8, seconds=0)
    assert [row["storage"] for row in found["storages"] if row["chosen"]] == ["vector"]
    assert any("price" in note for note in found["notes"])


def test_nothing_is_made(planned: Planned, gateway_connection: psycopg.Connection) -> None:
    everything = """
        SELECT relname, pg_relation_size(oid) FROM pg_class
        WHERE relnamespace = 'pgblend_data'::regnamespace AND relkind IN ('r', 'i') ORDER BY 1
    """
    before = gateway_connection.execute(everything).fetchall()
    planned()
    assert gateway_connection.execute(everything).fetchall() == before
    for table in ("embedding_space", "embedding_queue", "embedding_worker"):
        found = gateway_connection.execute(f"SELECT FROM pgblend_data.{table}").fetchall()
        assert found == []


def test_a_model_that_was_asked_before_is_asked_again(
    planned: Planned, model_provider: ModelProvider
) -> None:
    planned()
    before = model_provider.requests
    planned()
    assert model_provider.requests == 2 * before


def test_the_price_is_that_of_the_list(
    pgblend: Pgblend, parse_valid: ParseValid, texts: None
) -> None:
    model = "openai/text-embedding-3-small"
    found = parse_valid(pgblend("space", "plan", "--model", model, "--json"), "space-plan")
    assert found["cost_usd"] == prices.embedding_cost(model, found["tokens"]) > 0
    assert found["chunks"] == CHUNKS + 3
    assert not any("price" in note for note in found["notes"])


def test_a_limit_makes_it_longer(planned: Planned, gateway_connection: psycopg.Connection) -> None:
    gateway_connection.execute("SELECT set_setting('embedding_texts_per_minute', '1')")
    found = planned("--collection", "many")
    assert found["limit_hours"] == CHUNKS / 60
    assert any("limit_hours" in note for note in found["notes"])


@pytest.mark.slow
def test_long_vectors_and_a_build_that_outgrows_its_memory(
    planned: Planned,
    pgblend: Pgblend,
    model_provider: ModelProvider,
    gateway_connection: psycopg.Connection,
) -> None:
    model_provider.behaviour = Behaviour(dimensions=2001)
    found = planned()
    assert [(row["storage"], row["chosen"]) for row in found["storages"]] == [
        ("halfvec", True),
        ("binary", False),
    ]
    assert not any("maintenance_work_mem" in note for note in found["notes"])
    refused = pgblend("space", "plan", "--model", model_provider.model, "--storage", "vector")
    assert "storage vector has room for 2000 dimensions" in refused.stderr
    assert "and the model's vectors have 2001" in refused.stderr
    database = gateway_connection.info.dbname
    gateway_connection.execute(f"ALTER DATABASE {database} SET maintenance_work_mem = '1MB'")
    gateway_connection.execute(
        "SELECT ingest_document('many', 'n' || n, 'text ' || n) FROM generate_series(1, 250) AS n"
    )
    found = planned("--storage", "halfvec")
    assert found["maintenance_work_mem"] == 2**20
    assert "set that to 2MB for the build" in found["notes"][-1]


def test_what_the_model_refuses_is_counted(planned: Planned, model_provider: ModelProvider) -> None:
    model_provider.behaviour = Behaviour(poison="Ships")
    assert planned()["sample"]["refused"] == 1


def test_few_chunks_and_no_interval(
    planned: Planned, pgblend: Pgblend, model_provider: ModelProvider
) -> None:
    found = planned("--collection", "library")
    assert (found["chunks"], found["sample"]["calls"]) == (3, 3)
    assert (found["embedding_hours"]["low"], found["embedding_hours"]["high"]) == (None, None)
    assert found["notes"][-1] == "3 chunks are too few to tell how sure the hours are"
    shown = pgblend("space", "plan", "--model", model_provider.model, "--collection", "library")
    assert "to embed: 3 chunks of library" in shown.stdout
    assert "cost: not known" in shown.stdout
    assert "halfvec" in shown.stdout
    assert "note: 3 chunks are too few" in shown.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--collection", "nope"], "there is no collection 'nope'"),
        (["--collection", "empty"], "there is no chunk to plan for"),
        ([], "told to fail"),
    ],
)
def test_what_cannot_be_planned(
    pgblend: Pgblend,
    model_provider: ModelProvider,
    gateway_connection: psycopg.Connection,
    texts: None,
    options: list[str],
    message: str,
) -> None:
    gateway_connection.execute("SELECT add_collection('empty')")
    model_provider.behaviour = Behaviour(status=400)
    result = pgblend("space", "plan", "--model", model_provider.model, *options)
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.usefixtures("library")
def test_without_a_gateway(pgblend: Pgblend) -> None:
    assert "no model gateway is set" in pgblend("space", "plan", "--model", "m").stderr
