"""Haystack: a retriever component over collections."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Self

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.utils import Secret

from pgblend.cli.search.statements import SearchRequest
from pgblend.integrations.client import Client, facts_of, search_request, shared_client
from pgblend.integrations.filters import from_haystack

_URL = Secret.from_env_var("PGBLEND_DATABASE_URL", strict=False)


@component
class PgblendRetriever:
    """Finds the best passages by words and vectors, with scores and citations in their meta.

    `options` are those of hybrid_search. The database is `url`, else the private server. A pipeline
    that is written down has all but a `client`.
    """

    def __init__(
        self,
        collections: Sequence[str] | None = None,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 10,
        profile: str | None = None,
        options: Mapping[str, Any] | None = None,
        url: Secret = _URL,
        client: Client | None = None,
    ) -> None:
        self.collections, self.filters, self.top_k = collections, filters, top_k
        self.profile, self.options, self.url = profile, dict(options or {}), url
        self._client = client

    def to_dict(self) -> dict[str, Any]:
        """Return what a pipeline writes down: of the database where its URL is to be found."""
        return default_to_dict(
            self,
            collections=self.collections,
            filters=self.filters,
            top_k=self.top_k,
            profile=self.profile,
            options=self.options,
            url=self.url.to_dict(),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the component that was written down."""
        parameters = data["init_parameters"]
        parameters["url"] = Secret.from_dict(parameters["url"])
        made: Self = default_from_dict(cls, data)
        return made

    def warm_up(self) -> None:
        """Connect and load pgblend's program, before the first question."""
        self._search(search_request(" ", 1))

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return {"documents": […]}, best first; what is given here counts before the component's.

        Without query_embedding the database's model gives the query its vector.
        """
        request = search_request(
            query,
            self.top_k if top_k is None else top_k,
            self.collections,
            from_haystack(self.filters if filters is None else filters),
            self.options | (options or {}),
            query_embedding,
        )
        return {"documents": self._search(request)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Do the same in a thread."""
        found: dict[str, list[Document]] = await asyncio.to_thread(
            self.run, query, query_embedding, filters, top_k, options
        )
        return found

    def _search(self, request: SearchRequest) -> list[Document]:
        client = self._client or shared_client(self.url.resolve_value())
        return [
            Document(
                id=str(row["chunk_id"]),
                content=row["content"],
                meta={**row["metadata"], "pgblend": facts_of(row)},
                score=row["score"],
            )
            for row in client.search(request, self.profile)
        ]
