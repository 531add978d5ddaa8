"""Hosted models through litellm: every name that is not local, their errors and vectors."""

import asyncio
import os
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Any, Literal, TypeVar

import httpx
import numpy as np
from numpy.typing import NDArray

from pgblend.cli.base.http_client import (
    AnswerTooLargeError,
    RedirectedError,
    TruthValueError,
    at_most,
    only_numbers,
)
from pgblend.cli.models.gateway_options import Policy
from pgblend.cli.models.litellm_library import import_litellm
from pgblend.cli.models.metrics import CallRecord
from pgblend.cli.models.openai_errors import GatewayError, bad_answer
from pgblend.cli.models.own_servers import own_servers
from pgblend.cli.models.retry import Breaker, CallDeadline, Observer, ask_again
from pgblend.plpy.models.outcome import is_numbered, mask_secrets, numbered_vectors, whole_letters

# What litellm raises, turned into errors that say what to do and give no secret away.
#
# The types of litellm alone do not tell. An unreachable host, a missing key and an answer that is
# not JSON all arrive as InternalServerError. So the status, the answer's headers and the causes are
# read too.

_MAX_MESSAGE = 300
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$")
_TIMEOUTS = (TimeoutError, httpx.TimeoutException)
_API_KEY = re.compile(r"api[ _-]?key|credentials", re.IGNORECASE)
# What litellm puts before a message, once for each layer.
_WRAPPER = re.compile(r"(?:litellm\.)?\b\w*(?:Error|Exception|Timeout)(?::| -) |LiteLLM: ")
_UNREACHABLE = (httpx.TransportError, OSError)
_SCORES = '{"results": [{"index": 0, "relevance_score": 0.5}, …]}'


def to_gateway_error(
    litellm: Any,
    error: Exception,
    model: str,
    provider: str,
    key: str | None,
    kind: str = "embedding",
) -> GatewayError:
    """Return the error that a caller sees for whatever a call through litellm raised."""
    status = getattr(error, "status_code", None)
    causes = list(_causes(error))
    reason = _reason(error, key)
    for cause in causes:
        if isinstance(cause, AnswerTooLargeError | TruthValueError):
            return bad_answer(f"{provider} is not read: {cause}")
        if isinstance(cause, RedirectedError):
            hint = "Name the address that it leads to, if it is to be trusted with the key"
            return GatewayError(502, "provider_redirects", f"{provider}: {cause}. {hint}")
    if isinstance(error, litellm.Timeout) or any(isinstance(c, _TIMEOUTS) for c in causes):
        return GatewayError(504, "provider_timeout", f"{provider} did not answer in time")
    if status == 429:
        message = f"{provider} limits the rate: {reason}"
        return GatewayError(429, "provider_rate_limit", message, retry_after=_retry_after(error))
    if any(isinstance(cause, _UNREACHABLE) for cause in causes):
        return GatewayError(502, "provider_unreachable", f"{provider} cannot be reached")
    if status == 404 or isinstance(error, litellm.LiteLLMUnknownProvider):
        message = f"{provider} has no {kind.removesuffix('_texts')} model {model!r}"
        return GatewayError(404, "model_not_found", message, param="model")
    if status in (401, 403) or not _answered(error):
        missing = [] if key else litellm.validate_environment(model).get("missing_keys") or []
        if missing or _API_KEY.search(reason) or status in (401, 403):
            # What a provider says to a wrong key may quote it.
            told = reason if status == 403 or not _answered(error) else ""
            return _key_error(provider, missing, told, is_refused=status == 403)
    return _refusal(error, status, provider, reason, kind)


def _key_error(provider: str, missing: list[str], reason: str, *, is_refused: bool) -> GatewayError:
    if missing:
        names = (" or " if provider == "gemini" else ", ").join(missing)
        message = f"no key for {provider}: set {names} in the gateway's environment or --env-file"
        return GatewayError(401, "provider_key_missing", message)
    if reason and not is_refused:
        return GatewayError(401, "provider_key_missing", f"no key for {provider}: {reason}")
    message = f"{provider} refused the gateway's key" + (f": {reason}" if reason else "")
    return GatewayError(401, "provider_key_rejected", message)


def _refusal(
    error: Exception, status: object, provider: str, reason: str, kind: str
) -> GatewayError:
    if isinstance(status, int) and 400 <= status < 500:
        message = f"{provider} refused the call: {reason}"
        return GatewayError(400, "provider_rejected_request", message)
    if not _answered(error):
        expected = f" (expected {_SCORES})" if kind == "rerank" else ""
        message = f"{provider} gave an answer that cannot be read{expected}: {reason}"
        return GatewayError(502, "provider_bad_response", message)
    message = f"{provider} failed: {reason}"
    return GatewayError(502, "provider_error", message, retry_after=_retry_after(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _answered(error: Exception) -> bool:
    return _headers(error) is not None


def _headers(error: Exception) -> Any:
    """Return the headers of the provider's answer, None where it gave none that could be read.

    litellm keeps them for some kinds of calls only; for others the HTTP library's error has them.
    """
    given = getattr(error, "litellm_response_headers", None)
    if given is not None:
        return given
    for cause in _causes(error):
        if isinstance(cause, httpx.HTTPStatusError):
            return cause.response.headers
    return None


def _retry_after(error: Exception) -> str | None:
    value = (_headers(error) or {}).get("retry-after")
    return value if isinstance(value, str) and re.fullmatch(r"[\w ,:.]{1,40}", value) else None


def _reason(error: Exception, secret: str | None) -> str:
    text = str(error).split("Traceback (most recent call last)")[0]
    quoted = re.search(r"""['"]message['"]: (['"])(.+?)\1(?:, ['"]|})""", text)
    text = quoted.group(2) if quoted else _WRAPPER.sub("", text)
    named = [value for name, value in os.environ.items() if _SECRET_NAME.search(name.upper())]
    return mask_secrets(" ".join(whole_letters(text).split()), [*named, secret])[:_MAX_MESSAGE]


# Reading the vectors out of a provider's answer.

MOST_DIMENSIONS = 16_000  # of pgvector's columns


def vectors_of(answer: Any, model: str, count: int, dimensions: int | None) -> list[bytes]:
    """Return one little-endian float32 vector a text, or raise what is wrong with the answer."""
    try:
        rows = numbered_vectors(answer.data)
        found = len(answer.data)
    except (AttributeError, KeyError, TypeError):
        raise bad_answer(f"{model} gave an answer without vectors") from None
    if found != count:
        raise bad_answer(f"{model} gave {found} vectors for {count} texts")
    if not is_numbered(rows, count):
        raise bad_answer(f"{model} gave vectors that are not numbered from 0 to {count - 1}")
    vectors = [_vector(model, rows[index]) for index in range(count)]
    if not all(np.isfinite(vector).all() for vector in vectors):
        raise bad_answer(f"{model} gave a vector that is not a list of finite numbers")
    _check_dimensions(model, {vector.size for vector in vectors}, dimensions)
    return [vector.tobytes() for vector in vectors]


def _vector(model: str, numbers: object) -> NDArray[np.float32]:
    """Return a list of numbers; texts and truth values, which numpy takes for such, are none."""
    if not isinstance(numbers, list) or not set(map(type, numbers)) <= {int, float}:
        raise bad_answer(f"{model} gave a vector that is not a list of finite numbers")
    if len(numbers) > MOST_DIMENSIONS:
        raise bad_answer(f"{model} gave a vector of more than {MOST_DIMENSIONS} dimensions")
    try:
        return np.asarray(numbers, dtype="<f4")
    except OverflowError:  # a whole number of hundreds of digits
        raise bad_answer(f"{model} gave a vector that is not a list of finite numbers") from None


def _check_dimensions(model: str, sizes: set[int], wanted: int | None) -> None:
    if len(sizes) > 1 or 0 in sizes:
        raise bad_answer(f"{model} gave vectors of {sorted(sizes)} dimensions in one answer")
    if wanted is not None and sizes != {wanted}:
        raise GatewayError(
            502,
            "dimension_mismatch",
            f"{model} gave {sizes.pop()} dimensions where {wanted} were asked for",
            param="dimensions",
        )


_OPENAI_KEY = "OPENAI_API_KEY"
# "rerank_texts": as text-embeddings-inference has it, which takes `texts` at a server's root.
Kind = Literal["chat", "embedding", "rerank", "rerank_texts"]
_MOST_BREAKERS = 1000
_FUNCTIONS = {
    "chat": "acompletion",
    "embedding": "aembedding",
    "rerank": "arerank",
    "rerank_texts": "arerank",
}
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
            # The OpenAI library takes this key for whatever host it calls, when there is no other.
            # A provider whose own key is missing would be sent it. So it is only passed by hand.
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
            message = f"unknown model {model!r}: name it as provider/model, for example"
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
        deadline: CallDeadline,
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
        deadline: CallDeadline,
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
        deadline: CallDeadline,
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

        OpenAI has no rerank: vLLM's shape is that of Infinity and llama.cpp too.
        """
        if provider not in self.servers:
            return {"model": model}
        name, url = model.removeprefix(f"{provider}/"), self.servers[provider].url
        if kind == "rerank_texts":
            return {"model": f"huggingface/{name}", "api_base": url.removesuffix("/v1")}
        library = "hosted_vllm" if kind == "rerank" else "openai"
        return {"model": f"{library}/{name}", "api_base": url}

    def _key(self, provider: str) -> str | None:
        """Return the key that is passed by hand; of other providers litellm finds it."""
        if provider in self.servers:
            return self.servers[provider].key
        return self._openai_key if provider == "openai" else None

    async def _provider(self, model: str, deadline: CallDeadline) -> str:
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
    async def _place(self, provider: str, deadline: CallDeadline) -> AsyncIterator[None]:
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
