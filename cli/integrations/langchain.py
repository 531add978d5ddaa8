"""LangChain: a retriever over collections, and a vector store that is one collection.

The retriever says in metadata["pgblend"] how each passage was found; the store gives back what was
put in. Asynchronous calls run in LangChain's threads, over the same pool.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self
from uuid import uuid4

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field

from pgblend.integrations.client import (
    Arm,
    Client,
    StoredText,
    facts_of,
    search_request,
    shared_client,
)
from pgblend.integrations.filters import from_langchain
from pgblend.integrations.values import stored_text


class PgblendRetriever(BaseRetriever):
    """Finds the best passages by words and vectors, with scores and citations in their metadata.

    `options` are those of hybrid_search, `filter` is LangChain's ({"year": {"$gte": 1970}}). With
    `embedding` queries get their vectors from it, else from the database's model. `invoke` takes
    `k`, `filter` and options for one call.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    collections: list[str] | None = None
    k: int = 4
    filter: dict[str, Any] | None = None
    profile: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    embedding: Embeddings | None = None
    url: str | None = Field(default=None, repr=False, exclude=True)
    client: Client | None = Field(default=None, repr=False, exclude=True)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: dict[str, Any] | None = None,
        **options: Any,
    ) -> list[Document]:
        request = search_request(
            query,
            self.k if k is None else k,
            self.collections,
            from_langchain(self.filter if filter is None else filter),
            self.options | options,
            _vector_of(self.embedding, query),
        )
        client = self.client or shared_client(self.url)
        return [
            Document(
                id=str(row["chunk_id"]),
                page_content=row["content"],
                metadata={**row["metadata"], "pgblend": facts_of(row)},
            )
            for row in client.search(request, self.profile)
        ]


class PgblendVectorStore(VectorStore):
    """A collection whose documents are LangChain's, each one passage; it is made where it is not.

    With `embedding` the vectors come from it, for documents and queries, and go into the embedding
    space `space` (the active one by default; made where there is none). Without, the database's
    model makes them: a search finds documents by words at once, by vectors after pgblend worker.
    A search is hybrid_search, and takes its options as keywords; scores are in [0, 1].
    """

    def __init__(
        self,
        collection: str,
        embedding: Embeddings | None = None,
        *,
        space: str | None = None,
        url: str | None = None,
        client: Client | None = None,
    ) -> None:
        self._collection, self._embedding, self._space = collection, embedding, space
        self._client = client or shared_client(url)
        self._client.make_collection(collection)

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes the vectors, None where the database's model does."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        collection: str = "langchain",
        **kwargs: Any,
    ) -> Self:
        """Return a store with these texts in it; keywords are the constructor's."""
        store = cls(collection, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts, or replace those with the same ids; return the ids, made where none is given.

        A metadata's title and source are the document's title and uri as well. Of texts with one
        id the last counts.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts is {texts!r}: expected a list of texts")
        contents = [stored_text(text, f"texts[{i}]") for i, text in enumerate(texts)]
        given_ids, given = ids or [None] * len(contents), metadatas or [{}] * len(contents)
        _expect_one_each(contents, "ids", given_ids)
        _expect_one_each(contents, "metadatas", given)
        keys = [str(key) if key else str(uuid4()) for key in given_ids]
        vectors: Sequence[Sequence[float] | None] = (
            self._embedding.embed_documents(contents) if self._embedding else [None] * len(keys)
        )
        _expect_one_each(contents, "vectors of the embedding", vectors)
        stored = [StoredText(*parts) for parts in zip(keys, contents, given, vectors, strict=True)]
        self._client.store(self._collection, stored, type(self._embedding).__name__, self._space)
        return keys

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id; all of the collection where ids is None."""
        self._client.delete(self._collection, None if ids is None else list(map(str, ids)))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that are there, in the order of the ids."""
        return [
            Document(id=text.key, page_content=text.content, metadata=dict(text.metadata))
            for text in self._client.get(self._collection, list(map(str, ids)))
        ]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the best documents by words and vectors; takes `filter` and search options."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the same with their scores in [0, 1], best first."""
        return self._search(query, k, _vector_of(self._embedding, query), **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Return the best documents by a vector alone."""
        found = self._search("", k, embedding, arm="vector", **kwargs)
        return [document for document, _ in found]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return documents that are good and differ, chosen among the best `fetch_k`."""
        mmr = {"pool": fetch_k, "lambda": lambda_mult}
        return self.similarity_search(query, k, mmr=mmr, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the same by a vector alone."""
        mmr = {"pool": fetch_k, "lambda": lambda_mult}
        return self.similarity_search_by_vector(embedding, k, mmr=mmr, **kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return float

    def _search(
        self,
        query: str,
        k: int,
        vector: Sequence[float] | None,
        *,
        arm: Arm = "hybrid",
        filter: dict[str, Any] | None = None,
        **options: Any,
    ) -> list[tuple[Document, float]]:
        if self._space is not None:
            options["space"] = self._space
        request = search_request(
            query, k, [self._collection], from_langchain(filter), options, vector
        )
        return [
            (
                Document(
                    id=row["source_key"], page_content=row["content"], metadata=row["metadata"]
                ),
                row["score"],
            )
            for row in self._client.search(request, arm=arm)
        ]


def _vector_of(embedding: Embeddings | None, query: str) -> list[float] | None:
    text = stored_text(query, "the query")
    return embedding.embed_query(text) if embedding and text.strip() else None


def _expect_one_each(texts: Sequence[str], name: str, given: Sequence[Any]) -> None:
    if len(given) != len(texts):
        raise ValueError(f"{len(texts)} texts and {len(given)} {name}: expected as many")
