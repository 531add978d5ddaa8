"""The models of a search asked from here, so that the database calls none."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, LiteralString

import httpx

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.search_request import SearchRequest
from pgblend.cli.server.gateway_token import token_for
from pgblend.plpy.models.answer import gateway_answer
from pgblend.plpy.models.embedding import checked_vectors
from pgblend.plpy.models.expansion import checked_expansion
from pgblend.plpy.models.rerank import checked_scores

_PLAN: LiteralString = """
    SELECT
        pgblend._search_plan(
            %(options)s::jsonb, %(profile)s::text, %(collections)s::text[]
        ) AS settings,
        to_jsonb(a) AS space,
        blend.get_setting('expansion_model') #>> '{}' AS expansion_model,
        blend.get_setting('rerank_model') #>> '{}' AS rerank_model,
        blend.get_setting('gateway_url') #>> '{}' AS gateway_url
    FROM (SELECT) AS one
    LEFT JOIN pgblend_data.embedding_space AS a ON a.active
"""
_CANDIDATES: LiteralString = """
    SELECT chunk_id, passage FROM blend.rerank_candidates(
        query => %(query)s::text, collections => %(collections)s::text[],
        filter => %(filter)s::jsonb, profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector, result_limit => %(limit)s::integer)
"""
Warn = Callable[[str], None]


def ask_models(
    connection: Connection, request: SearchRequest, profile: str | None, warn: Warn
) -> tuple[SearchRequest, str | None]:
    """Return the request with all that models say for it, and the query's vector.

    What the gateway does not give is left out of the search, and `warn` is told. No transaction is
    open while a model is waited for.
    """
    if not request.query.strip():
        return request, None
    parameters = request.parameters() | {"profile": profile}
    (plan,) = fetch_rows(connection, _PLAN, parameters)
    with _Gateway(plan["gateway_url"]) as gateway:
        search = _ClientSearch(request, profile, plan, gateway, warn)
        search.expand()
        search.embed()
        search.rerank(connection)
    return search.request, search.vector


class _ClientSearch:
    """One search on its way from stage to stage."""

    def __init__(
        self,
        request: SearchRequest,
        profile: str | None,
        plan: dict[str, Any],
        gateway: "_Gateway",
        warn: Warn,
    ) -> None:
        self.request, self.profile, self.plan = request, profile, plan
        self.gateway, self.warn = gateway, warn
        self.settings = plan["settings"]
        self.vector: str | None = None

    def runs(self, stage: str) -> bool:
        """Whether a stage is wanted and has a model."""
        return bool(self.settings["stages"][stage])

    def give(self, **options: Any) -> None:
        """Add options to the request."""
        self.request = replace(self.request, options=self.request.options | options)

    def ask(self, path: str, body: dict[str, Any], timeout: str) -> dict[str, Any]:
        """Return the gateway's {"answer"} or {"problem"}."""
        return self.gateway.post(path, body, self.settings["timeouts_ms"][timeout])

    def lack(self, stage: str, problem: str, **options: Any) -> None:
        """Go on without a stage, which is told; the options switch it off."""
        self.warn(f"searching without the {stage}: {problem}")
        self.give(**options)

    def expand(self) -> None:
        """Give the expansion."""
        if not self.runs("expand") or self.settings["expansion"]:
            return
        path = "/v1/hyde" if self.settings["hyde"] == "query" else "/v1/expand"
        body = {"model": self.plan["expansion_model"], "query": self.request.query}
        outcome = self.ask(path, body, "expand")
        expansion = checked_expansion(outcome.get("answer"))
        if expansion is None:
            problem = outcome.get("problem", "the gateway's answer is no expansion")
            self.lack("expand stage", problem, expand="off")
        else:
            self.give(expansion={name: value for name, value in expansion.items() if value})

    def embed(self) -> None:
        """Give the vectors of the query, its variants and the passage, in one call."""
        if self.plan["space"] is None or self.settings["weights"]["vector"] == 0:
            return
        expansion = self.request.options.get("expansion", {})
        texts = [self.request.query, *expansion.get("vectorQueries", [])]
        if expansion.get("hyde") and self.settings["hyde"] == "query":
            texts.append(f"{self.request.query}\n\n{expansion['hyde']}")
        elif expansion.get("hyde"):
            texts.append(expansion["hyde"])
        body = {"model": self.plan["space"]["model"], "input": texts}
        outcome = self.ask("/v1/embeddings", body, "embed")
        vectors: Any = outcome
        if "answer" in outcome:
            vectors = checked_vectors(outcome["answer"], len(texts), self.plan["space"])
        if isinstance(vectors, dict):
            weights = {**self.request.options.get("weights", {}), "vector": 0}
            self.lack("vector arm", vectors["problem"], weights=weights)
            return
        self.vector = json.dumps(vectors[0])
        if len(vectors) > 1:
            self.give(expansion={**expansion, "embeddings": vectors[1:]})

    def rerank(self, connection: Connection) -> None:
        """Give the scores of the passages that a reranker reads."""
        if not self.runs("rerank") or self.settings["rerank_scores"]:
            return
        more = {"profile": self.profile, "query_embedding": self.vector}
        rows = fetch_rows(connection, _CANDIDATES, self.request.parameters() | more)
        read = [row for row in rows if row["passage"].strip()]
        given = {str(row["chunk_id"]): 0.0 for row in rows}
        if read:
            body = {
                "model": self.plan["rerank_model"],
                "query": self.request.query,
                "documents": [row["passage"] for row in read],
            }
            outcome = self.ask("/v1/rerank", body, "rerank")
            scores = outcome.get("problem") or checked_scores(outcome["answer"], len(read))
            if isinstance(scores, str):
                self.lack("rerank stage", scores, rerank="off")
                return
            for row, score in zip(read, scores, strict=True):
                given[str(row["chunk_id"])] = score
        self.give(**({"rerank_scores": given} if given else {"rerank": "off"}))


class _Gateway:
    """The model gateway over HTTP."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        is_socket = url is not None and url.startswith("unix:")
        self._token = token_for(url)
        self._client = httpx.Client(
            base_url="http://localhost" if url is None or is_socket else url,
            transport=httpx.HTTPTransport(uds=url.removeprefix("unix:"))
            if url and is_socket
            else None,
            headers={"Authorization": f"Bearer {self._token}"} if self._token else {},
            trust_env=False,
        )

    def __enter__(self) -> "_Gateway":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def post(self, path: str, body: dict[str, Any], timeout_ms: float) -> dict[str, Any]:
        """Return {"answer"} or {"problem"}."""
        if self._url is None:
            return {"problem": "no model gateway is set (pgblend config set gateway_url URL)"}

        def exchange() -> tuple[int, str]:
            try:
                response = self._client.post(path, json=body, timeout=timeout_ms / 1000)
            except httpx.TimeoutException:
                raise TimeoutError from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise OSError(str(error)) from None
            return response.status_code, response.text

        return gateway_answer(self._url, int(timeout_ms), exchange, [self._token])
