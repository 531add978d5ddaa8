"""LlamaIndex' index and retrievers over the store, and the store by itself."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import psycopg
import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from pgblend.integrations.client import Client
from pgblend.integrations.filters import FilterError
from pgblend.integrations.llama_index import PgblendRetriever, PgblendVectorStore
from support.database import Database, add_documents
from support.model_provider import embed

pytestmark = pytest.mark.slow
SIZE = 16
TEXTS = {
    "red": ("red wine of Bordeaux", {"year": 1970, "tags": ["red", "dry"]}),
    "white": ("white wine of the Loire", {"year": 1990, "tags": ["white"]}),
    "ships": ("ships sail the sea", {"year": 2020}),
}


class Words(BaseEmbedding):
    """The test provider's vectors."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(embed(text, SIZE))

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def nodes() -> list[TextNode]:
    made = []
    for key, (text, metadata) in TEXTS.items():
        node = TextNode(id_=key, text=text, metadata=dict(metadata), embedding=embed(text, SIZE))
        source = "wine" if "wine" in text else "sea"
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=source)
        made.append(node)
    return made


@pytest.fixture
def store(client: Client) -> Iterator[PgblendVectorStore]:
    made = PgblendVectorStore("nodes", client=client)
    made.add(nodes())
    yield made
    made.clear()


def filters(*given: tuple[str, str, Any], condition: str = "and") -> MetadataFilters:
    parts = [MetadataFilter(key=k, operator=FilterOperator(o), value=v) for k, o, v in given]
    return MetadataFilters(filters=parts, condition=FilterCondition(condition))


def query(text: str, mode: str, **more: Any) -> VectorStoreQuery:
    return VectorStoreQuery(
        query_str=text,
        query_embedding=embed(text, SIZE),
        similarity_top_k=more.pop("similarity_top_k", 3),
        mode=VectorStoreQueryMode(mode),
        **more,
    )


def test_nodes_come_back_as_they_went_in(store: PgblendVectorStore) -> None:
    (node,) = store.get_nodes(["red"])
    (given,) = [each for each in nodes() if each.node_id == "red"]
    given.embedding = None
    assert node == given
    assert node.ref_doc_id == "wine"


@pytest.mark.parametrize(
    ("mode", "arms"),
    [
        ("default", {"vector"}),
        ("hybrid", {"lexical", "vector"}),
        ("text_search", {"lexical"}),
        ("sparse", {"lexical"}),
    ],
)
def test_the_mode_says_what_searches(store: PgblendVectorStore, mode: str, arms: set[str]) -> None:
    found = store.query(query("red wine of Bordeaux", mode))
    assert found.ids is not None
    assert found.nodes is not None
    assert found.similarities is not None
    assert found.ids[0] == "red"
    facts = found.nodes[0].metadata["pgblend"]
    assert set(facts["arms"]) == arms
    assert facts["degraded"] == []
    assert facts["citation"]["source_key"] == "red"
    assert found.similarities == sorted(found.similarities, reverse=True)
    shown = found.nodes[0].get_content(metadata_mode=MetadataMode.LLM)
    assert "year: 1970" in shown
    assert "pgblend" not in shown


def test_alpha_is_the_vectors_part(store: PgblendVectorStore) -> None:
    found = store.query(query("red wine", "hybrid", alpha=0.0))
    assert found.nodes is not None
    assert set(found.nodes[0].metadata["pgblend"]["arms"]) == {"lexical"}


def test_what_has_no_counterpart_is_an_error_that_names_it(store: PgblendVectorStore) -> None:
    with pytest.raises(ValueError, match="mode 'svm' has no counterpart: expected default"):
        store.query(query("wine", "svm"))
    with pytest.raises(ValueError, match="sparse_top_k has no counterpart"):
        store.query(query("wine", "sparse", sparse_top_k=3))
    with pytest.raises(FilterError, match="'text_match' on 'tags' has no counterpart"):
        store.query(query("wine", "hybrid", filters=filters(("tags", "text_match", "r"))))
    with pytest.raises(psycopg.Error, match="nonsense"):
        store.query(query("wine", "hybrid"), nonsense=1)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"filters": filters(("year", ">=", 1990))}, {"white", "ships"}),
        ({"filters": filters(("tags", "all", ["red", "dry"]))}, {"red"}),
        ({"filters": filters(("tags", "any", ["red", "white"]))}, {"red", "white"}),
        ({"filters": filters(("year", "==", 1970), ("year", "==", 2020), condition="or")},
         {"red", "ships"}),
        ({"filters": filters(("year", "==", 1970), ("year", "==", 2020), condition="not")},
         {"white"}),
        ({"node_ids": ["red", "ships"]}, {"red", "ships"}),
        ({"doc_ids": ["wine"], "node_ids": ["red", "ships"]}, {"red"}),
    ],
)  # fmt: skip
def test_filters_nodes_and_documents(
    store: PgblendVectorStore, given: dict[str, Any], found: set[str]
) -> None:
    assert set(store.query(query("wine", "default", **given)).ids or ()) == found


def test_deleting(store: PgblendVectorStore) -> None:
    def there() -> set[str]:
        return {node.node_id for node in store.get_nodes()}

    store.delete_nodes(["red", "white"], filters(("year", "<", 1980)))
    assert there() == {"white", "ships"}
    store.delete("wine")
    assert there() == {"ships"}
    store.delete_nodes(["nobody"])
    store.delete_nodes()
    store.delete_nodes(filters=MetadataFilters(filters=[]))
    assert there() == {"ships"}
    store.delete_nodes(["ships"])
    assert there() == set()


async def test_an_index_adds_and_retrieves(store: PgblendVectorStore, client: Client) -> None:
    store.clear()
    index = VectorStoreIndex(
        [TextNode(id_="cat", text="the cat sleeps"), TextNode(id_="sea", text="ships at sea")],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=Words(),
    )
    retriever = index.as_retriever(similarity_top_k=1, vector_store_query_mode="hybrid")
    assert [found.node.node_id for found in retriever.retrieve("cat")] == ["cat"]
    assert [found.node.node_id for found in await retriever.aretrieve("ships")] == ["sea"]
    index.delete_ref_doc("nobody")


async def test_the_retriever_searches_what_others_brought(
    client: Client, module_connection: psycopg.Connection
) -> None:
    db = Database(module_connection)
    db.rows("SELECT add_collection('books')")
    wine, _ = add_documents(
        db, "books", [("b1", "Wine", "How wine is made."), ("b2", "Sea", "Ships.")]
    )
    db.rows("SELECT set_metadata(%s, '{\"year\": 1970}')", wine)
    retriever = PgblendRetriever(
        ["books"], 1, filters=filters(("year", "==", 1970)), embed_model=Words(), client=client
    )
    (found,) = retriever.retrieve("wine")
    assert found.node.get_content() == "How wine is made."
    assert found.node.metadata["year"] == 1970
    assert found.node.metadata["pgblend"]["citation"]["title"] == "Wine"
    assert found.score == found.node.metadata["pgblend"]["score"]
    vector = QueryBundle("wine", embedding=list(embed("wine", SIZE)))
    assert [each.score for each in await retriever.aretrieve(vector)] == [found.score]


def test_odd_metadata_of_nodes(store: PgblendVectorStore) -> None:
    given = {
        "k\0": "v\0",
        "price": Decimal("9.5"),
        "n": np.int64(3),
        "set": {1},
        "odd": float("nan"),
    }
    store.add([TextNode(id_="odd", text="x\0\ud800", metadata=given, embedding=[1.0] * SIZE)])
    (found,) = store.get_nodes(["odd"])
    assert found.get_content(MetadataMode.NONE) == "x\ufffd\ufffd"
    assert found.metadata == {"k\ufffd": "v\ufffd", "price": 9.5, "n": 3, "set": [1], "odd": None}
    with pytest.raises(TypeError, match=r"metadata of 'no'\['a'\]: b'x' is of type bytes"):
        store.add([TextNode(id_="no", text="x", metadata={"a": b"x"})])
