"""LlamaIndex: a retriever over collections, and a vector store that is one collection.

The nodes that are found say in metadata["pgblend"] how; no model is shown that.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
from pydantic import Field, PrivateAttr

from pgblend.integrations.client import (
    Arm,
    Client,
    StoredText,
    facts_of,
    search_request,
    shared_client,
)
from pgblend.integrations.filters import Filter, from_llama_index
from pgblend.integrations.values import stored_metadata, stored_text

_FACTS = "pgblend"
_NODE = "_node_content"  # where LlamaIndex keeps a node among its metadata
_REF_DOC_ID = "ref_doc_id"
_ARMS: dict[VectorStoreQueryMode, Arm] = {
    VectorStoreQueryMode.DEFAULT: "vector",
    VectorStoreQueryMode.MMR: "vector",
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SPARSE: "lexical",
    VectorStoreQueryMode.TEXT_SEARCH: "lexical",
}


class PgblendRetriever(BaseRetriever):
    """Finds the best passages by words and vectors, with scores and citations in their metadata.

    `options` are those of hybrid_search. With `embed_model`, or a vector in the query, queries
    bring their vectors, else the database's model gives them.
    """

    def __init__(
        self,
        collections: Sequence[str] | None = None,
        similarity_top_k: int = 2,
        *,
        filters: MetadataFilters | None = None,
        profile: str | None = None,
        options: Mapping[str, Any] | None = None,
        embed_model: BaseEmbedding | None = None,
        url: str | None = None,
        client: Client | None = None,
        **kwargs: Any,
    ) -> None:
        self._collections, self._top_k, self._profile = collections, similarity_top_k, profile
        self._filter, self._options = from_llama_index(filters), dict(options or {})
        self._embed_model, self._client = embed_model, client or shared_client(url)
        super().__init__(**kwargs)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query, vector = query_bundle.query_str, query_bundle.embedding
        if vector is None and self._embed_model and query.strip():
            vector = self._embed_model.get_query_embedding(stored_text(query, "the query"))
        request = search_request(
            query, self._top_k, self._collections, self._filter, self._options, vector
        )
        rows = self._client.search(request, self._profile)
        return [NodeWithScore(node=_found_node(row), score=row["score"]) for row in rows]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class PgblendVectorStore(BasePydanticVectorStore):
    """A collection whose documents are LlamaIndex' nodes, each one passage; made where it is not.

    The nodes' vectors go into the embedding space `space`. It is the active one by default, made
    for their size where there is none. The query mode says what searches: "default" and "mmr"
    vectors, "text_search" and "sparse" words, "hybrid" both, where `alpha` is the vectors' part.
    """

    stores_text: bool = True
    collection: str
    space: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    _client: Client = PrivateAttr()

    def __init__(
        self,
        collection: str,
        *,
        space: str | None = None,
        options: Mapping[str, Any] | None = None,
        url: str | None = None,
        client: Client | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "collection": collection,
            "space": space,
            "options": dict(options or {}),
        }
        super().__init__(**given)
        self._client = client or shared_client(url)
        self._client.make_collection(collection)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex writes this down by."""
        return "PgblendVectorStore"

    @property
    def client(self) -> Client:
        """The connections."""
        return self._client

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes with their vectors, or replace those with the same ids; return the ids."""
        texts = [
            StoredText(
                node.node_id,
                node.get_content(metadata_mode=MetadataMode.NONE),
                node_to_metadata_dict(_plain_node(node), remove_text=True),
                node.embedding,
            )
            for node in nodes
        ]
        self._client.store(self.collection, texts, "llama-index", self.space)
        return [node.node_id for node in nodes]

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return the nodes with these ids that pass the filters."""
        keys = self._keys(node_ids, from_llama_index(filters))
        return [
            metadata_dict_to_node(dict(text.metadata), text.content)
            for text in self._client.get(self.collection, keys)
        ]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete all nodes of a document."""
        keys = self._keys(None, {_REF_DOC_ID: ref_doc_id})
        self._client.delete(self.collection, keys)

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete the nodes with these ids that pass the filters; none where neither is given."""
        wanted = from_llama_index(filters)
        if node_ids is not None or wanted is not None:
            self._client.delete(self.collection, self._keys(node_ids, wanted))

    def clear(self) -> None:
        """Delete all nodes."""
        self._client.delete(self.collection, None)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Search as the query's mode says; keywords are options of hybrid_search.

        ValueError for a mode, or a parameter of one, that has no counterpart.
        """
        arm = _ARMS.get(query.mode)
        if arm is None:
            modes = ", ".join(mode.value for mode in _ARMS)
            raise ValueError(f"mode {query.mode.value!r} has no counterpart: expected {modes}")
        if query.sparse_top_k is not None:
            raise ValueError("sparse_top_k has no counterpart: use the option candidate_depth")
        limit = (arm == "hybrid" and query.hybrid_top_k) or query.similarity_top_k
        request = search_request(
            query.query_str or "",
            limit,
            [self.collection],
            _wanted(query),
            self._options_of(query) | kwargs,
            query.query_embedding,
        )
        rows = self._client.search(request, arm=arm)
        return VectorStoreQueryResult(
            nodes=[_found_node(row) for row in rows],
            similarities=[row["score"] for row in rows],
            ids=[row["source_key"] for row in rows],
        )

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Do the same in a thread."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes in a thread."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    def _options_of(self, query: VectorStoreQuery) -> dict[str, Any]:
        options = dict(self.options)
        if self.space is not None:
            options["space"] = self.space
        if query.mode == VectorStoreQueryMode.MMR and query.mmr_threshold is not None:
            options["mmr"] = {"lambda": query.mmr_threshold}
        if query.mode == VectorStoreQueryMode.HYBRID and query.alpha is not None:
            options["weights"] = {"lexical": 1 - query.alpha, "vector": query.alpha}
        return options

    def _keys(self, node_ids: list[str] | None, filter: Filter | None) -> list[str]:
        if node_ids is not None and filter is None:
            return node_ids
        passing = self._client.keys(self.collection, filter)
        return [key for key in passing if node_ids is None or key in node_ids]


def _wanted(query: VectorStoreQuery) -> Filter | None:
    """Return the filter of a query, its nodes and documents among it."""
    wanted = from_llama_index(query.filters)
    for key, values in (("$source_key", query.node_ids), (_REF_DOC_ID, query.doc_ids)):
        if values:  # an index gives [] where it means all
            wanted = _both(wanted, {key: {"in": list(values)}})
    return wanted


def _both(one: Filter | None, other: Filter | None) -> Filter | None:
    return {"and": [one, other]} if one and other else one or other


def _plain_node(node: BaseNode) -> BaseNode:
    """Return a node whose metadata LlamaIndex can write down."""
    return node.model_copy(update={"metadata": stored_metadata(node.metadata, node.node_id)})


def _found_node(row: Mapping[str, Any]) -> BaseNode:
    """Return a row as a node: the one that was added, or of what LlamaIndex did not write."""
    if _NODE in row["metadata"]:
        node = metadata_dict_to_node(dict(row["metadata"]), row["content"])
    else:
        node = TextNode(
            id_=str(row["chunk_id"]), text=row["content"], metadata=dict(row["metadata"])
        )
    node.metadata[_FACTS] = facts_of(row)
    node.excluded_llm_metadata_keys.append(_FACTS)
    node.excluded_embed_metadata_keys.append(_FACTS)
    return node
