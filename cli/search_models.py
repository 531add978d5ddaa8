"""The models of a search asked from here, so that the database calls none."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, LiteralString

import httpx

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.search_request import SearchRequest

_PLAN: LiteralString = """
    SELECT
        pgblend._search_plan(
            %(options)s::jsonb, l.of_database, l.of_profile, l.of_collection, NULL, 'none'
        ) AS settings,
        a.model AS embedding_model,
        pgblend.get_setting('expansion_model') #>> '{}' AS expansion_model,
        pgblend.get_setting('rerank_model') #>> '{}' AS rerank_model,
        pgblend.get_setting('gateway_url') #>> '{}' AS gateway_url
    FROM (SELECT pgblend._searched_collections(%(collections)s::text[]) AS ids) AS i
    CROSS JOIN LATERAL pgblend._setting_layers(%(profile)s::text, i.ids) AS l
    LEFT JOIN pgblend_data.embedding_space AS a ON a.active
"""
_CANDIDATES: LiteralString = """
    SELECT chunk_id, passage FROM pgblend.rerank_candidates(
        query => %(query)s::text, collections => %(collections)s::text[],
        filter => %(filter)s::jsonb, profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector, result_limit => %(limit)s::integer)
"""
Warn = Callable[[str], None]


class _ModelError(Exception):
    """A model gave no answer; the message says why."""


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

    def ask(self, stage: str, path: str, body: dict[str, Any], timeout: str) -> Any:
        """Return the gateway's answer, None where there is none, which is told."""
        try:
            return self.gateway.post(path, body, self.settings["timeouts_ms"][timeout])
        except _ModelError as error:
            self.warn(f"searching without the {stage}: {error}")
            return None

    def expand(self) -> None:
        """Give the expansion."""
        if not self.runs("expand") or self.settings["expansion"]:
            return
        path = "/v1/hyde" if self.settings["hyde"] == "query" else "/v1/expand"
        body = {"model": self.plan["expansion_model"], "query": self.request.query}
        answer = self.ask("expand stage", path, body, "expand")
        if not isinstance(answer, dict):
            self.give(expand="off")
            return
        names = ("lexicalQueries", "vectorQueries", "hyde")
        self.give(expansion={name: answer[name] for name in names if answer.get(name)})

    def embed(self) -> None:
        """Give the vectors of the query, its variants and the passage, in one call."""
        if self.plan["embedding_model"] is None or self.settings["weights"]["vector"] == 0:
            return
        expansion = self.request.options.get("expansion", {})
        texts = [self.request.query, *expansion.get("vectorQueries", [])]
        if expansion.get("hyde") and self.settings["hyde"] == "query":
            texts.append(f"{self.request.query}\n\n{expansion['hyde']}")
        elif expansion.get("hyde"):
            texts.append(expansion["hyde"])
        body = {"model": self.plan["embedding_model"], "input": texts}
        answer = self.ask("vector arm", "/v1/embeddings", body, "embed")
        if answer is None:
            weights = self.request.options.get("weights", {})
            self.give(weights={**weights, "vector": 0})
            return
        try:
            found = sorted(answer["data"], key=lambda item: item["index"])
            vectors = [list(item["embedding"]) for item in found]
        except (KeyError, TypeError):
            vectors = []
        if len(vectors) != len(texts):
            self.warn("searching without the vector arm: the gateway's answer has no vectors")
            self.give(weights={**self.request.options.get("weights", {}), "vector": 0})
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
        scores = {str(row["chunk_id"]): 0.0 for row in rows}
        if read:
            body = {
                "model": self.plan["rerank_model"],
                "query": self.request.query,
                "documents": [row["passage"] for row in read],
            }
            answer = self.ask("rerank stage", "/v1/rerank", body, "rerank")
            try:
                for result in answer["results"]:
                    chunk_id = read[result["index"]]["chunk_id"]
                    scores[str(chunk_id)] = float(result["relevance_score"])
            except (KeyError, TypeError, IndexError, ValueError):
                scores = {}
        self.give(**({"rerank_scores": scores} if scores else {"rerank": "off"}))


class _Gateway:
    """The model gateway over HTTP."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        is_socket = url is not None and url.startswith("unix:")
        token = os.environ.get("PGBLEND_GATEWAY_TOKEN")
        self._client = httpx.Client(
            base_url="http://localhost" if url is None or is_socket else url,
            transport=httpx.HTTPTransport(uds=url.removeprefix("unix:"))
            if url and is_socket
            else None,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            trust_env=False,
        )

    def __enter__(self) -> "_Gateway":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def post(self, path: str, body: dict[str, Any], timeout_ms: float) -> Any:
        """Return the answer's JSON; _ModelError where there is none."""
        if self._url is None:
            raise _ModelError("no model gateway is set (pgblend config set gateway_url URL)")
        try:
            response = self._client.post(path, json=body, timeout=timeout_ms / 1000)
            answer = response.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise _ModelError(f"the model gateway at {self._url}: {error}") from None
        if response.status_code != httpx.codes.OK:
            message = answer.get("error", {}) if isinstance(answer, dict) else {}
            reason = message.get("message") if isinstance(message, dict) else None
            raise _ModelError(f"the model gateway answered {response.status_code}: {reason}")
        return answer
