"""The models of a search asked from here, so that the database calls none.

What is to be asked is one thing (model_steps), who asks is another. The command line asks
in turn (ask_models), `pgblend serve` several at the same time.
"""

import json
import time
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString, TypeAlias

import click
import httpx

from pgblend.cli.answers.ask import UnreachableGatewayError, check_is_open
from pgblend.cli.base.database import Connection, fetch_rows
from pgblend.cli.base.errors import ModelUnavailableError
from pgblend.cli.base.http_client import AnswerTooLargeError, gateway_client
from pgblend.cli.operate.account import token_for
from pgblend.cli.search.statements import SearchRequest
from pgblend.plpy.base.catalog import GivenExpansion
from pgblend.plpy.models.expansion import (
    checked_expansion,
    embedded_texts,
    expansion_question,
    joined_to,
)
from pgblend.plpy.models.outcome import checked_vectors, gateway_answer
from pgblend.plpy.search.rerank import checked_scores

PLAN: LiteralString = """
    WITH plan AS MATERIALIZED (
        SELECT pgblend._search_plan(
            %(options)s::jsonb, %(profile)s::text, %(collections)s::text[]) AS settings
    )
    SELECT
        p.settings,
        to_jsonb(s) AS space,
        blend.get_setting('expansion_model') #>> '{}' AS expansion_model,
        blend.get_setting('rerank_model') #>> '{}' AS rerank_model,
        blend.get_setting('gateway_url') #>> '{}' AS gateway_url
    FROM plan AS p
    LEFT JOIN pgblend_data.embedding_space AS s
        ON coalesce(s.name = p.settings ->> 'space', s.active)
"""
CANDIDATES: LiteralString = """
    SELECT chunk_id, passage FROM blend.rerank_candidates(
        query => %(query)s::text, collections => %(collections)s::text[],
        filter => %(filter)s::jsonb, profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector, result_limit => %(limit)s::integer)
"""
Warn = Callable[[str], None]


@dataclass(frozen=True)
class RowsAsked:
    """A question to the database; its answer is a list of rows."""

    sql: LiteralString
    parameters: dict[str, object]


@dataclass(frozen=True)
class ModelCall:
    """A call of the model gateway; its answer is {"answer"} or {"problem"}."""

    url: str | None
    path: str
    body: dict[str, Any]
    timeout_ms: float


@dataclass(frozen=True)
class ModelsAsked:
    """A request with all that models said for it, and what the search goes without."""

    request: SearchRequest
    degraded: list[str] = field(default_factory=list)  # "stage: reason", as the database says it
    times_ms: dict[str, float] = field(default_factory=dict)  # of expand, embed and rerank

    @property
    def warnings(self) -> list[str]:
        """The same as warnings, in the database's words."""
        return [
            f"searching without the {stage} {'arm' if stage == 'vector' else 'stage'}: {problem}"
            for stage, _, problem in (note.partition(": ") for note in self.degraded)
        ]


Step: TypeAlias = RowsAsked | ModelCall
Steps: TypeAlias = Generator[Step, Any, Any]


def ask_models(
    connection: Connection, request: SearchRequest, profile: str | None, warn: Warn
) -> ModelsAsked:
    """Return the request with all that models say for it, the query's vector among it.

    What the gateway does not give is left out of the search, and `warn` is told. No transaction is
    open while a model is waited for. Where it is closed to this process, the database asks.
    """
    steps = model_steps(request, profile)
    answer: Any = None
    with _Gateway() as gateway:
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                asked: ModelsAsked = done.value
                break
            if isinstance(step, RowsAsked):
                answer = fetch_rows(connection, step.sql, step.parameters)
                continue
            try:
                answer = gateway.post(step)
            except UnreachableGatewayError as error:
                why = f"the gateway is closed to this process ({error})"
                click.echo(f"pgblend: note: {why}: the database asks the models", err=True)
                return ModelsAsked(request)
    for warning in asked.warnings:
        warn(warning)
    return asked


def with_model_times(trace: dict[str, Any], times_ms: Mapping[str, float]) -> dict[str, Any]:
    """Return an explanation that has the time of models that were asked before the search."""
    total_ms = (trace.get("total_ms") or 0.0) + sum(times_ms.values())
    return {**trace, "models_ms": dict(times_ms), "total_ms": total_ms} if times_ms else trace


def model_steps(
    request: SearchRequest, profile: str | None, stages: Collection[str] = ("expand", "rerank")
) -> Generator[Step, Any, ModelsAsked]:
    """Yield what is to be asked for a search, one after the other; `send` takes each answer.

    Of `stages` no others are run, and what the request has already is not asked for. With the
    option strict a UserError says what failed.
    """
    if not request.query.strip():
        return ModelsAsked(request)
    (plan,) = yield RowsAsked(PLAN, request.parameters() | {"profile": profile})
    search = _ClientSearch(request, profile, plan)
    if "expand" in stages:
        yield from search.expand()
    yield from search.embed()
    if "rerank" in stages:
        yield from search.rerank()
    return ModelsAsked(search.request, search.degraded, search.times_ms)


NO_GATEWAY = {"problem": "no model gateway is set (pgblend config set gateway_url URL)"}


class _ClientSearch:
    """One search on its way from stage to stage."""

    def __init__(self, request: SearchRequest, profile: str | None, plan: dict[str, Any]) -> None:
        self.request, self.profile, self.plan = request, profile, plan
        self.settings = plan["settings"]
        self.degraded: list[str] = []
        self.times_ms: dict[str, float] = {}

    def runs(self, stage: str) -> bool:
        """Whether the search has a stage, as it says itself."""
        return bool(self.settings["stages"][stage])

    def give(self, **options: Any) -> None:
        """Add options to the request."""
        self.request = replace(self.request, options=self.request.options | options)

    def ask(self, path: str, body: dict[str, Any], stage: str) -> Steps:
        """Call a model, return its outcome, and keep how long it took."""
        url, began = self.plan["gateway_url"], time.monotonic()
        outcome = yield ModelCall(url, path, body, self.settings["timeouts_ms"][stage])
        self.times_ms[stage] = (time.monotonic() - began) * 1000
        return outcome

    def lack(self, stage: str, problem: str, **options: Any) -> None:
        """Go on without a stage, which is told; the options switch it off."""
        if self.settings["strict"]:
            hint = "leave out the option strict to go on without it"
            raise ModelUnavailableError(f"{stage}: {problem}", hint=hint)
        self.degraded.append(f"{stage}: {problem}")
        self.give(**options)

    def expand(self) -> Steps:
        """Give the expansion."""
        if not self.runs("expand") or self.settings["expansion"]:
            return
        settings = self.settings
        asked = settings["hyde"], settings["history"], settings["sub_questions"]["most"]
        task, question = expansion_question(self.request.query, *asked)
        body = {"model": self.plan["expansion_model"], **question}
        outcome = yield from self.ask(f"/v1/{task}", body, "expand")
        expansion = checked_expansion(outcome.get("answer"))
        if expansion is None:
            problem = outcome.get("problem", "the gateway's answer is no expansion")
            self.lack("expand", problem, expand="off")
        else:
            self.give(expansion={name: value for name, value in expansion.items() if value})

    def embed(self) -> Steps:
        """Give the vectors of the query, its variants and the passage, in one call."""
        if not self.runs("embed"):
            return
        expansion: GivenExpansion = self.request.options.get("expansion") or GivenExpansion()
        has_vector = self.request.query_embedding is not None
        texts = [] if has_vector else [self.request.query]
        if "embeddings" not in expansion:
            named = embedded_texts(expansion)
            if "hyde" in named and self.settings["hyde"] == "query":
                named["hyde"] = joined_to(self.request.query, named["hyde"])
            texts += named.values()
        if not texts:
            return
        body = {"model": self.plan["space"]["model"], "input": texts}
        if self.plan["space"]["asked_dimensions"]:
            body["dimensions"] = self.plan["space"]["asked_dimensions"]
        outcome = yield from self.ask("/v1/embeddings", body, "embed")
        vectors: Any = outcome
        if "answer" in outcome:
            vectors = checked_vectors(outcome["answer"], len(texts), self.plan["space"])
        if isinstance(vectors, dict):
            weights = {**self.request.options.get("weights", {}), "vector": 0}
            self.lack("vector", vectors["problem"], weights=weights)
            return
        if not has_vector:
            self.request = replace(self.request, query_embedding=json.dumps(vectors.pop(0)))
        if vectors:
            self.give(expansion={**expansion, "embeddings": vectors})

    def rerank(self) -> Steps:
        """Give the scores of the passages that a reranker reads."""
        if not self.runs("rerank") or self.settings["rerank_scores"]:
            return
        rows = yield RowsAsked(CANDIDATES, self.request.parameters() | {"profile": self.profile})
        read = [row for row in rows if row["passage"].strip()]
        given = {str(row["chunk_id"]): 0.0 for row in rows}
        if read:
            body = {
                "model": self.plan["rerank_model"],
                "query": self.request.query,
                "documents": [row["passage"] for row in read],
            }
            outcome = yield from self.ask("/v1/rerank", body, "rerank")
            scores = outcome.get("problem") or checked_scores(outcome["answer"], len(read))
            if isinstance(scores, str):
                self.lack("rerank", scores, rerank="off")
                return
            for row, score in zip(read, scores, strict=True):
                given[str(row["chunk_id"])] = score
        self.give(**({"rerank_scores": given} if given else {"rerank": "off"}))


class _Gateway:
    """The model gateway over HTTP, asked once at a time."""

    def __init__(self) -> None:
        self._client: httpx.Client | None = None

    def __enter__(self) -> "_Gateway":
        return self

    def __exit__(self, *_: object) -> None:
        if self._client:
            self._client.close()

    def post(self, call: ModelCall) -> dict[str, Any]:
        """Return {"answer"} or {"problem"}; UnreachableGatewayError where it is closed."""
        if call.url is None:
            return dict(NO_GATEWAY)
        token = token_for(call.url)
        client = self._client = self._client or gateway_client(call.url, token, None)

        def exchange() -> tuple[int, str]:
            try:
                response = client.post(
                    call.path,
                    json=call.body,
                    timeout=call.timeout_ms / 1000,
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                raise UnreachableGatewayError(str(error)) from None
            except httpx.TimeoutException:
                raise TimeoutError from None
            except AnswerTooLargeError as error:
                raise OverflowError(str(error)) from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise OSError(str(error)) from None
            check_is_open(response)
            return response.status_code, response.text

        return gateway_answer(call.url, int(call.timeout_ms), exchange, [token])
