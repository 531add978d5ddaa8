"""LangChain's own suites over the retriever and the vector store, and what these add."""

import logging
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from pgblend.cli.base.errors import UserError
from pgblend.integrations.client import Client
from pgblend.integrations.filters import FilterError
from pgblend.integrations.langchain import PgblendRetriever, PgblendVectorStore

pytestmark = pytest.mark.slow
COLLECTION = "langchain"
TEXTS = ["red wine of Bordeaux", "white wine of the Loire", "ships sail the sea", "the cat sleeps"]
METADATA: list[dict[str, Any]] = [
    {"year": 1970, "tags": ["red", "dry"], "title": "Bordeaux", "source": "wine/red.md"},
    {"year": 1990, "tags": ["white"], "title": "Loire"},
    {"year": 2020},
    {},
]


@pytest.fixture
def store(client: Client) -> Iterator[PgblendVectorStore]:
    made = PgblendVectorStore(COLLECTION, DeterministicFakeEmbedding(size=6), client=client)
    yield made
    made.delete()


@pytest.fixture
def filled(store: PgblendVectorStore) -> PgblendVectorStore:
    store.add_texts(TEXTS, METADATA, ids=["red", "white", "ships", "cat"])
    return store


class TestStoreStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, store: PgblendVectorStore) -> VectorStore:  # type: ignore[override]
        return store


class TestRetrieverStandard(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _given(self, filled: PgblendVectorStore, client: Client) -> None:
        self.client = client

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return PgblendRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {
            "collections": [COLLECTION],
            "embedding": DeterministicFakeEmbedding(size=6),
            "client": self.client,
        }

    @property
    def retriever_query_example(self) -> str:
        return "white wine"


def keys(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_a_retrieved_passage_says_how_it_was_found(
    filled: PgblendVectorStore, client: Client
) -> None:
    retriever = PgblendRetriever(collections=[COLLECTION], k=1, client=client)
    (found,) = retriever.invoke("red wine", mode="fast")
    facts = found.metadata["pgblend"]
    assert found.metadata["year"] == 1970
    assert facts["rank"] == 1
    assert 0 < facts["score"] <= 1
    assert facts["arms"]["lexical"]["rank"] == 1
    assert facts["citation"]["source_key"] == "red"
    assert facts["citation"]["uri"] == "wine/red.md"
    assert facts["citation"]["title"] == "Bordeaux"
    (reason,) = facts["degraded"]
    assert reason.startswith("vector: callers bring the vectors of embedding space")


def test_what_a_search_without_rows_went_without_is_logged(
    filled: PgblendVectorStore, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = PgblendRetriever(collections=[COLLECTION], client=client)
    with caplog.at_level(logging.WARNING, "pgblend"):
        assert retriever.invoke("zebra") == []
    assert ["callers bring the vectors" in message for message in caplog.messages] == [True]


def test_without_an_embedding_words_find_at_once(client: Client) -> None:
    store = PgblendVectorStore("words", client=client)
    store.add_texts(["foo bar", "baz"])
    assert [found.page_content for found in store.similarity_search("foo")] == ["foo bar"]


def test_a_store_finds_by_vector_alone(filled: PgblendVectorStore) -> None:
    assert filled.embeddings is not None
    vector = filled.embeddings.embed_query("the cat sleeps")
    assert keys(filled.similarity_search_by_vector(vector, k=1)) == ["cat"]
    assert keys(filled.max_marginal_relevance_search_by_vector(vector, k=1)) == ["cat"]


def test_scores_fall_and_are_relevance_scores(filled: PgblendVectorStore) -> None:
    found = filled.similarity_search_with_relevance_scores("red wine of Bordeaux", k=4)
    scores = [score for _, score in found]
    assert found[0][0].id == "red"
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"year": 1970}, {"red"}),
        ({"year": {"$gte": 1990}}, {"white", "ships"}),
        ({"year": {"$nin": [1970]}}, {"white", "ships", "cat"}),
        ({"tags": {"$in": ["dry"]}}, {"red"}),
        ({"$and": [{"year": {"$gt": 1970}}, {"tags": {"$exists": True}}]}, {"white"}),
        ({"$not": {"year": {"$exists": True}}}, {"cat"}),
        ({"$source_key": {"$in": ["cat", "red"]}}, {"cat", "red"}),
    ],
)
def test_filters_reach_every_arm(
    filled: PgblendVectorStore, filter: dict[str, Any], found: set[str]
) -> None:
    assert set(keys(filled.similarity_search("wine", filter=filter))) == found


def test_a_filter_without_a_counterpart_is_an_error(filled: PgblendVectorStore) -> None:
    with pytest.raises(FilterError, match=r"'\$regex' on 'year' has no counterpart"):
        filled.similarity_search("wine", filter={"year": {"$regex": "19.."}})


def test_variety_leaves_likenesses_behind(filled: PgblendVectorStore) -> None:
    found = filled.max_marginal_relevance_search("wine", k=4, lambda_mult=0.1)
    assert len(found) == 4
    assert found != filled.similarity_search("wine", k=4)


def test_from_texts_makes_the_collection(client: Client) -> None:
    store = PgblendVectorStore.from_texts(
        TEXTS, DeterministicFakeEmbedding(size=6), METADATA, collection="made", client=client
    )
    found = store.as_retriever(search_kwargs={"k": 1}).invoke("ships sail the sea")
    assert [(d.page_content, d.metadata) for d in found] == [("ships sail the sea", {"year": 2020})]


def test_vectors_go_into_the_space_that_is_named(client: Client) -> None:
    texts = ["one", "two"]
    for space, size in (("small", 3), ("large", 9)):
        PgblendVectorStore.from_texts(
            texts, DeterministicFakeEmbedding(size=size), collection=space, space=space,
            client=client, ids=["1", "2"],
        )  # fmt: skip
    large = PgblendVectorStore(
        "large", DeterministicFakeEmbedding(size=9), space="large", client=client
    )
    assert keys(large.similarity_search("two", k=1)) == ["2"]
    with pytest.raises(psycopg.Error, match="3 dimensions"):
        PgblendVectorStore(
            "large", DeterministicFakeEmbedding(size=3), space="large", client=client
        ).add_texts(["three"])


def test_metadata_that_json_lacks_is_an_error_that_names_it(store: PgblendVectorStore) -> None:
    with pytest.raises(TypeError, match="is of type complex: expected what JSON has"):
        store.add_texts(["x"], [{"number": 1j}])


@pytest.mark.parametrize(
    ("texts", "others", "said"),
    [
        (["a", "b"], {"ids": ["1"]}, "2 texts and 1 ids: expected as many"),
        (["a", "b"], {"metadatas": [{}]}, "2 texts and 1 metadatas: expected as many"),
        ("abc", {}, "texts is 'abc': expected a list of texts"),
        (["a", None], {}, r"texts\[1\] is None: expected text"),
    ],
)
def test_what_does_not_fit_is_named(
    store: PgblendVectorStore, texts: Any, others: dict[str, Any], said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        store.add_texts(texts, **others)


def test_what_no_embedding_takes_is_cleaned_before_it_is_asked(store: PgblendVectorStore) -> None:
    one = uuid4()
    store.add_texts(["a\0b heron", "\ud800 tern"], [{"k": one}, None], ids=[one, 5])  # type: ignore[list-item]
    assert [d.page_content for d in store.get_by_ids([one, 5])] == ["a\ufffdb heron", "\ufffd tern"]  # type: ignore[list-item]
    assert keys(store.similarity_search("tern \udfff", k=1)) == ["5"]
    assert keys(store.similarity_search("heron", filter={"k": one})) == [str(one)]
    store.delete([one, 5])  # type: ignore[list-item]
    assert store.similarity_search("heron") == []


def test_a_url_that_does_not_answer_is_an_error_at_once() -> None:
    with pytest.raises(UserError, match="refused"):
        PgblendVectorStore("any", url="postgresql://localhost:1/none")
