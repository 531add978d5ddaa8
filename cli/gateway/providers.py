"""Hosted models: every name that is not local goes through litellm."""

import asyncio
import importlib
import os
from typing import Any

import numpy as np

from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.provider_errors import to_gateway_error

_OPENAI_KEY = "OPENAI_API_KEY"


class Providers:
    """Calls providers through litellm, which is imported at first use: it costs seconds."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
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
            self._loading = asyncio.create_task(asyncio.to_thread(_import_litellm))
        return await asyncio.shield(self._loading)  # a caller who leaves must not stop the import

    async def embed(
        self, model: str, texts: list[str], dimensions: int | None
    ) -> tuple[list[bytes], int]:
        """Return one float32 vector a text, and how many tokens the provider counted."""
        litellm = await self.load()
        try:
            _, provider, _, _ = litellm.get_llm_provider(model)
        except litellm.BadRequestError:
            message = f"unknown model {model!r}; name it as provider/model, for example"
            raise GatewayError(
                404, "model_not_found", f"{message} openai/text-embedding-3-small", param="model"
            ) from None
        key = self._openai_key if provider == "openai" else None
        try:
            async with asyncio.timeout(self._timeout_seconds):
                answer = await litellm.aembedding(
                    model=model,
                    input=texts,
                    dimensions=dimensions,
                    timeout=self._timeout_seconds,
                    max_retries=0,
                    api_key=key,
                    allowed_openai_params=_dimensions_pass(litellm, provider, model),
                )
        except Exception as error:
            raise to_gateway_error(litellm, error, model, provider, self._openai_key) from error
        return _vectors(answer, model, len(texts), dimensions), _tokens(answer)


def _import_litellm() -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it downloads a price list
    os.environ["LITELLM_MODE"] = "PRODUCTION"  # else it reads .env files that nobody named
    os.environ.setdefault("LITELLM_LOG", "CRITICAL")  # its log lines may quote requests
    litellm: Any = importlib.import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    # Who calls the gateway has a deadline and decides about retries; it reads a 0 as "not given".
    litellm.DEFAULT_MAX_RETRIES = 0
    return litellm


def _dimensions_pass(litellm: Any, provider: str, model: str) -> list[str]:
    """Name `dimensions` for OpenAI-compatible models that litellm knows nothing about.

    litellm drops it from them; for those it knows, it is right about who takes it.
    """
    unknown = model not in litellm.model_cost and model.split("/")[-1] not in litellm.model_cost
    return ["dimensions"] if provider == "openai" and unknown else []


def _vectors(answer: Any, model: str, count: int, dimensions: int | None) -> list[bytes]:
    try:
        rows = sorted(answer.data, key=lambda row: int(row["index"]))
        vectors = [np.asarray(row["embedding"], dtype="<f4") for row in rows]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _bad_answer(f"{model} gave an answer without vectors") from None
    if len(vectors) != count:
        raise _bad_answer(f"{model} gave {len(vectors)} vectors for {count} texts")
    if any(vector.ndim != 1 or not np.isfinite(vector).all() for vector in vectors):
        raise _bad_answer(f"{model} gave a vector that is not a list of finite numbers")
    _check_dimensions(model, {vector.size for vector in vectors}, dimensions)
    return [vector.tobytes() for vector in vectors]


def _check_dimensions(model: str, sizes: set[int], wanted: int | None) -> None:
    if len(sizes) > 1 or 0 in sizes:
        raise _bad_answer(f"{model} gave vectors of {sorted(sizes)} dimensions in one answer")
    if wanted is not None and sizes != {wanted}:
        raise GatewayError(
            502,
            "dimension_mismatch",
            f"{model} gave {sizes.pop()} dimensions where {wanted} were asked for",
            param="dimensions",
        )


def _tokens(answer: Any) -> int:
    usage = getattr(answer, "usage", None)
    return int(getattr(usage, "prompt_tokens", 0) or 0)


def _bad_answer(message: str) -> GatewayError:
    return GatewayError(502, "provider_bad_response", message, param="model")
