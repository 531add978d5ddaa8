"""Hosted models: every name that is not local goes through litellm."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, Literal

from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.litellm_library import import_litellm
from pgblend.cli.gateway.provider_errors import to_gateway_error

_OPENAI_KEY = "OPENAI_API_KEY"
Kind = Literal["chat", "embedding", "rerank"]
_FUNCTIONS = {"chat": "acompletion", "embedding": "aembedding", "rerank": "arerank"}


class Providers:
    """Calls providers through litellm, which is imported at first use: it costs seconds."""

    def __init__(self, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
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
        try:
            _, provider, _, _ = litellm.get_llm_provider(model)
        except litellm.BadRequestError:
            message = f"unknown model {model!r}; name it as provider/model, for example"
            raise GatewayError(
                404, "model_not_found", f"{message} openai/text-embedding-3-small", param="model"
            ) from None
        return str(provider)

    async def call(self, kind: Kind, model: str, deadline: Deadline, **arguments: Any) -> Any:
        """Return litellm's answer to one call, or raise a GatewayError that says what to do."""
        litellm = await self.load()
        provider = await self.provider_of(model)
        function: Callable[..., Any] = getattr(litellm, _FUNCTIONS[kind])
        try:
            async with asyncio.timeout(deadline.remaining):
                return await function(
                    model=model,
                    timeout=deadline.remaining,
                    max_retries=0,
                    api_key=self._openai_key if provider == "openai" else None,
                    **arguments,
                )
        except Exception as error:
            raise self.to_gateway_error(error, model, provider, kind) from error

    def to_gateway_error(
        self, error: Exception, model: str, provider: str, kind: Kind
    ) -> GatewayError:
        """Return what the caller is told about an error that litellm raised."""
        assert self._loading is not None
        litellm = self._loading.result()
        return to_gateway_error(litellm, error, model, provider, self._openai_key, kind)
