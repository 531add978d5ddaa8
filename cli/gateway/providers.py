"""Hosted models: every name that is not local goes through litellm."""

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Any, Literal, TypeVar

from pgblend.cli.bounded_answer import at_most, only_numbers
from pgblend.cli.gateway.breaker import Breaker
from pgblend.cli.gateway.call_record import CallRecord
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.litellm_library import import_litellm
from pgblend.cli.gateway.observer import Observer
from pgblend.cli.gateway.own_servers import own_servers
from pgblend.cli.gateway.policy import Policy
from pgblend.cli.gateway.provider_errors import to_gateway_error
from pgblend.cli.gateway.provider_vectors import MOST_DIMENSIONS
from pgblend.cli.gateway.retry import ask_again

_OPENAI_KEY = "OPENAI_API_KEY"
Kind = Literal["chat", "embedding", "rerank"]
_MOST_BREAKERS = 1000
_FUNCTIONS = {"chat": "acompletion", "embedding": "aembedding", "rerank": "arerank"}
_OTHER_BYTES = 256 * 1024
_NUMBER_BYTES = 32  # as JSON has one, with what stands between two
_LARGEST = 16 * 1024 * 1024  # of what is said, and of scores: a reranker may repeat the documents
_Result = TypeVar("_Result")


class Providers:
    """Calls providers through litellm, which is imported at first use: it costs seconds."""

    def __init__(self, policy: Policy, observer: Observer) -> None:
        self.policy = policy
        self.servers = own_servers(os.environ)
        self.breakers: dict[str, Breaker] = {}
        self._observer = observer
        self._places = defaultdict[str, asyncio.Semaphore](
            lambda: asyncio.Semaphore(policy.concurrency)
        )
        self._loading: asyncio.Task[Any] | None = None
        self._openai_key: str | None = None

    @property
    def state(self) -> str:
        """One of not_loaded, loading, ready."""
        if self._loading is None:
            return "not_loaded"
        return "ready" if self._loading.done() else "loading"

    async def load(self) -> Any:
        """Return litellm, importing it in a thread unless that is done already."""
        if self._loading is None:
            # The OpenAI library takes this key for whatever host it calls, when there is no other:
            # a provider whose own key is missing would be sent it. So it is only passed by hand.
            self._openai_key = os.environ.pop(_OPENAI_KEY, None)
            os.environ.pop("OPENAI_ADMIN_KEY", None)
            self._loading = asyncio.create_task(asyncio.to_thread(import_litellm))
        return await asyncio.shield(self._loading)  # a caller who leaves must not stop the import

    async def provider_of(self, model: str) -> str:
        """Return the name of a model's provider, or raise that there is none."""
        litellm = await self.load()
        if (name := model.partition("/")[0]) in self.servers:
            return name
        try:
            _, provider, _, _ = litellm.get_llm_provider(model)
        except litellm.BadRequestError:
            message = f"unknown model {model!r}; name it as provider/model, for example"
            raise GatewayError(
                404, "model_not_found", f"{message} openai/text-embedding-3-small", param="model"
            ) from None
        return str(provider)

    async def takes_schema(self, model: str) -> bool:
        """Whether a chat model is known to answer in JSON of a given schema."""
        litellm = await self.load()
        provider = await self.provider_of(model)
        return provider not in self.servers and bool(litellm.supports_response_schema(model))

    async def call(
        self,
        kind: Kind,
        model: str,
        deadline: Deadline,
        read: Callable[[Any], _Result],
        *,
        task: str | None = None,
        **arguments: Any,
    ) -> _Result:
        """Return what `read` makes of litellm's answer, or raise a GatewayError.

        An answer that `read` refuses is a failure of the model, and may be asked for again.
        """
        record = CallRecord(task or kind, model)
        with self._observer.observe(record):
            answer, result = await self.start(kind, record, deadline, read, **arguments)
            record.count(answer)
            return result

    async def start(
        self,
        kind: Kind,
        record: CallRecord,
        deadline: Deadline,
        read: Callable[[Any], _Result],
        **arguments: Any,
    ) -> tuple[Any, _Result]:
        """Do as `call`, but leave it to the caller to observe how it ends."""
        model = record.model
        provider = record.provider = await self._provider(model, deadline)

        async def ask() -> tuple[Any, _Result]:
            record.attempts += 1
            answer = await self._ask(kind, model, provider, deadline, arguments)
            return answer, read(answer)

        async with self._place(provider, deadline):
            with self.watched(model):
                return await ask_again(ask, deadline, self.policy.attempts)

    @contextmanager
    def watched(self, model: str) -> Iterator[None]:
        """Let a call through and learn from how it ends, or raise that the model is left alone."""
        breaker = self._breaker(model)
        try:
            with breaker.watch():
                yield
        finally:
            self._observer.breaker_moved(model, breaker.state)

    def to_gateway_error(self, error: Exception, record: CallRecord, kind: Kind) -> GatewayError:
        """Return what the caller is told about an error that litellm raised."""
        if isinstance(error, GatewayError):
            return error
        assert self._loading is not None
        litellm = self._loading.result()
        provider = record.provider
        return to_gateway_error(litellm, error, record.model, provider, self._key(provider), kind)

    async def _ask(
        self,
        kind: Kind,
        model: str,
        provider: str,
        deadline: Deadline,
        arguments: dict[str, Any],
    ) -> Any:
        litellm = await self.load()
        function: Callable[..., Any] = getattr(litellm, _FUNCTIONS[kind])
        try:
            numbers = only_numbers() if kind == "embedding" else nullcontext()
            with at_most(_largest_answer(kind, arguments)), numbers:
                async with asyncio.timeout(deadline.remaining):
                    return await function(
                        **self._address(model, provider, kind),
                        # Always the same: litellm makes a client, with connections, for each value.
                        timeout=self.policy.timeout_seconds,
                        max_retries=0,
                        api_key=self._key(provider),
                        **arguments,
                    )
        except Exception as error:
            record = CallRecord("", model, provider)
            raise self.to_gateway_error(error, record, kind) from error

    def _address(self, model: str, provider: str, kind: Kind) -> dict[str, str]:
        """Return what litellm calls a model, and where it is if that is not the provider's own.

        OpenAI has no rerank: vLLM's shape is that of TEI, Infinity and llama.cpp too.
        """
        if provider not in self.servers:
            return {"model": model}
        name = model.removeprefix(f"{provider}/")
        library = "hosted_vllm" if kind == "rerank" else "openai"
        return {"model": f"{library}/{name}", "api_base": self.servers[provider].url}

    def _key(self, provider: str) -> str | None:
        """Return the key that is passed by hand; of other providers litellm finds it."""
        if provider in self.servers:
            return self.servers[provider].key
        return self._openai_key if provider == "openai" else None

    async def _provider(self, model: str, deadline: Deadline) -> str:
        """Return a model's provider; loading litellm takes the caller's time as well."""
        if self.state == "ready":
            return await self.provider_of(model)
        try:
            async with asyncio.timeout(deadline.callers):
                return await self.provider_of(model)
        except TimeoutError:
            message = "the gateway is loading its library of providers"
            raise GatewayError(503, "gateway_loading", message, retry_after="3") from None

    @asynccontextmanager
    async def _place(self, provider: str, deadline: Deadline) -> AsyncIterator[None]:
        """Wait until the provider has a place free for a call."""
        places = self._places[provider]
        try:
            async with asyncio.timeout(deadline.remaining):
                await places.acquire()
        except TimeoutError:
            message = f"{self.policy.concurrency} calls to {provider} are running already"
            raise GatewayError(429, "provider_busy", message, retry_after="1") from None
        try:
            yield
        finally:
            places.release()

    def _breaker(self, model: str) -> Breaker:
        if model not in self.breakers:
            if len(self.breakers) >= _MOST_BREAKERS:  # callers may name any number of models
                self.breakers = {m: b for m, b in self.breakers.items() if not b.untroubled}
            policy = self.policy
            self.breakers[model] = Breaker(model, policy.breaker_failures, policy.breaker_seconds)
        return self.breakers[model]


def _largest_answer(kind: Kind, arguments: dict[str, Any]) -> int:
    """Return how many bytes an answer may have: to read one holds up all other calls."""
    if kind != "embedding":
        return _LARGEST
    dimensions = arguments.get("dimensions") or MOST_DIMENSIONS
    return _OTHER_BYTES + len(arguments["input"]) * dimensions * _NUMBER_BYTES
