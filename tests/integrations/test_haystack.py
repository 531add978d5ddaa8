"""Haystack's pipelines with the retriever."""

from typing import Any

import psycopg
import pytest
from haystack import Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.utils import Secret

from pgblend.integrations.client import Client
from pgblend.integrations.filters import FilterError
from pgblend.integrations.haystack import PgblendRetriever
from support.database import Database, add_documents, add_space, embed_waiting
from support.model_provider import embed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def books(module_connection: psycopg.Connection) -> None:
    db = Database(module_connection)
    add_space(db)
    db.rows("SELECT add_collection('books')")
    wine, sea = add_documents(
        db, "books", [("b1", "Wine", "How wine is made."), ("b2", "Sea", "Ships sail the sea.")]
    )
    db.rows("SELECT set_metadata(%s, '{\"year\": 1970}')", wine)
    db.rows("SELECT set_metadata(%s, '{\"year\": 2020}')", sea)
    embed_waiting(db)


def compared(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def keys(documents: list[Any]) -> list[str]:
    return [document.meta["pgblend"]["citation"]["source_key"] for document in documents]


def test_a_document_says_how_it_was_found(client: Client) -> None:
    retriever = PgblendRetriever(["books"], client=client)
    (found, _) = retriever.run("wine", query_embedding=list(embed("wine")))["documents"]
    facts = found.meta["pgblend"]
    assert found.content == "How wine is made."
    assert found.meta["year"] == 1970
    assert found.score == facts["score"]
    assert facts["citation"]["title"] == "Wine"
    assert set(facts["arms"]) == {"lexical", "vector"}
    assert facts["degraded"] == []
    (other,) = retriever.run("wine", top_k=1)["documents"]  # no gateway here
    assert "vector" in other.meta["pgblend"]["degraded"][0]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (compared("meta.year", ">=", 2000), ["b2"]),
        ({"operator": "NOT", "conditions": [compared("meta.year", "in", [2020])]}, ["b1"]),
        (compared("id", "==", "b1"), ["b1"]),
    ],
)
async def test_filters_reach_every_arm(
    client: Client, filters: dict[str, Any], found: list[str]
) -> None:
    retriever = PgblendRetriever(["books"], filters=compared("meta.year", "<", 0), client=client)
    vector = list(embed("wine"))
    assert keys(retriever.run("wine", vector, filters)["documents"]) == found
    assert keys((await retriever.run_async("wine", vector, filters))["documents"]) == found
    assert retriever.run("wine", vector)["documents"] == []


def test_what_has_no_counterpart_is_an_error_that_names_it(client: Client) -> None:
    retriever = PgblendRetriever(["books"], client=client)
    with pytest.raises(FilterError, match="the field 'content' has no counterpart"):
        retriever.run("wine", filters=compared("content", "==", "x"))


def test_a_pipeline_is_written_down_and_read_again(
    module_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = PgblendRetriever(
        ["books"],
        filters=compared("meta.year", "==", 2020),
        top_k=3,
        options={"mode": "fast"},
        url=Secret.from_env_var("TEST_DATABASE"),
    )
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    pipeline.add_component("joiner", DocumentJoiner())
    pipeline.connect("retriever.documents", "joiner.documents")
    written = pipeline.dumps()
    assert module_url not in written
    monkeypatch.setenv("TEST_DATABASE", module_url)
    read = Pipeline.loads(written, allowed_modules=["pgblend.integrations.haystack"])
    found = read.run({"retriever": {"query": "ships"}})
    assert keys(found["joiner"]["documents"]) == ["b2"]
