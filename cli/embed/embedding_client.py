"""Embeddings from the model gateway over HTTP."""

import base64
import binascii
import struct
import time
from collections.abc import Sequence
from math import isfinite
from typing import Any

import httpx
from pgvector import Vector

from pgblend.cli.base.http_client import answer_json, gateway_client
from pgblend.cli.operate.account import TOKEN_VARIABLE, token_for
from pgblend.cli.operate.state import DATA_DIRECTORY_VARIABLE
from pgblend.plpy.models.outcome import (
    is_numbered,
    mask_secrets,
    numbered_vectors,
    one_line,
    storable,
)

_TIMEOUT = httpx.Timeout(120, connect=5)
_ATTEMPTS = 4
_RETRIED = {429, 502, 503, 504}
# What a gateway or its model says to a text that it cannot take, or breaks on.
_MAY_BE_THE_TEXT = {400, 413, 422, 500, 502, 504}
_LONGEST_WAIT_SECONDS = 30.0


class GatewayUnavailableError(Exception):
    """No vectors are to be had: the reason, and what to do.

    `may_be_the_text` where another text might get its vector; `retry_after` (seconds) where the
    gateway said when to come again.
    """

    def __init__(
        self,
        reason: str,
        hint: str,
        *,
        may_be_the_text: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.reason = mask_secrets(reason)
        super().__init__(self.reason)
        self.hint = hint
        self.may_be_the_text = may_be_the_text
        self.retry_after = retry_after


class GatewayClient:
    """Speaks to http://host:port or unix:/path; a context manager, safe in several threads."""

    def __init__(self, url: str, attempts: int = _ATTEMPTS) -> None:
        self._url = url
        self._attempts = attempts
        self._client = gateway_client(url, token_for(url), _TIMEOUT)

    def __enter__(self) -> "GatewayClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def embed(
        self,
        model: str,
        texts: Sequence[str],
        input_type: str = "query",
        dimensions: int | None = None,
    ) -> list[Vector]:
        """Return a vector for each text; waits and tries again when the model is overloaded.

        `input_type` "passage" is for texts to be found: some local models prefix them otherwise.
        None for `dimensions` means those that the model gives by itself.
        """
        body: dict[str, Any] = {
            "model": model,
            "input": list(texts),
            "encoding_format": "base64",
        }
        if dimensions is not None:
            body["dimensions"] = dimensions
        if model.startswith("local/"):  # another gateway than our own may refuse the field
            body["input_type"] = input_type
        vectors = self._vectors(self._ask("/v1/embeddings", body), len(texts))
        if not all(any(vector.to_list()) for vector in vectors):
            raise GatewayUnavailableError(
                f"model {model!r} gave the zero vector, which has no direction, for a text",
                "take the text out, or another model",
                may_be_the_text=True,
            )
        return vectors

    def complete(
        self, model: str, content: str | list[dict[str, Any]], max_tokens: int, user: str
    ) -> str:
        """Return what a chat model answers to one message; waits and tries again like `embed`.

        `user` names the task for the ledger.
        """
        body = {
            "model": model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "user": user,
        }
        response = self._ask("/v1/chat/completions", body)
        try:
            text = _said(response)
        except (ValueError, KeyError, TypeError, IndexError):
            text = None
        if not isinstance(text, str):
            raise GatewayUnavailableError(
                f"the answer of {self._url} is no chat completion",
                "check that gateway_url names an OpenAI-compatible /v1/chat/completions",
            )
        return text.strip()

    def chat(
        self, model: str, messages: Sequence[dict[str, Any]], response_format: Any, user: str
    ) -> str:
        """Return what a chat model says; `user` names the task for the ledger."""
        body = {
            "model": model,
            "messages": list(messages),
            "response_format": response_format,
            "temperature": 0,
            "user": user,
        }
        response = self._ask("/v1/chat/completions", body)
        try:
            return str(_said(response) or "")
        except (ValueError, KeyError, IndexError, TypeError):
            raise GatewayUnavailableError(
                f"the answer of {self._url} is no chat completion",
                "check that gateway_url names an OpenAI-compatible /v1/chat/completions",
                may_be_the_text=True,
            ) from None

    def _ask(self, path: str, body: dict[str, Any]) -> httpx.Response:
        """Post until there is an answer or no attempt left; raise what is no answer."""
        for attempt in range(1, self._attempts + 1):
            response = self._post(path, body)
            if response.status_code not in _RETRIED or attempt == self._attempts:
                break
            time.sleep(_wait_seconds(response, attempt))
        if response.status_code != httpx.codes.OK:
            raise _refusal(response, body["model"])
        return response

    def ask_once(self, path: str, body: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
        """Post a body to a path, once, and return the answer."""
        response = self._post(path, body, httpx.Timeout(timeout_seconds))
        if response.status_code != httpx.codes.OK:
            raise _refusal(response, str(body["model"]))
        try:
            answer: dict[str, Any] = answer_json(response)
        except ValueError:
            reason = f"the answer of {self._url} is not JSON"
            raise GatewayUnavailableError(reason, "check gateway_url") from None
        return answer

    def _post(
        self, path: str, body: dict[str, Any], timeout: httpx.Timeout = _TIMEOUT
    ) -> httpx.Response:
        try:
            return self._client.post(path, json=body, timeout=timeout)
        except httpx.TimeoutException:
            reason = f"the model gateway at {self._url} did not answer in time"
            raise GatewayUnavailableError(
                reason, "see its log, then run this again", may_be_the_text=True
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise GatewayUnavailableError(
                f"the model gateway at {self._url} cannot be reached ({error})",
                "start it with `pgblend gateway`, or correct `pgblend config set gateway_url`",
            ) from None

    def _vectors(self, response: httpx.Response, count: int) -> list[Vector]:
        try:
            items = answer_json(response)["data"]
            found = numbered_vectors(items)
            if len(items) != count or not is_numbered(found, count):
                raise ValueError
            vectors = [_vector(found[index]) for index in range(count)]
        except (ValueError, KeyError, TypeError, binascii.Error, struct.error):
            vectors = []
        finite = all(v.dimensions() and all(map(isfinite, v.to_list())) for v in vectors)
        if not vectors or not finite:
            raise GatewayUnavailableError(
                f"the answer of {self._url} is not {count} embeddings",
                "check that gateway_url names an OpenAI-compatible /v1/embeddings",
                may_be_the_text=True,
            )
        return vectors


def _said(response: httpx.Response) -> Any:
    """Return what a chat model said, with letters that PostgreSQL can store."""
    return storable(answer_json(response)["choices"][0]["message"]["content"])


def _vector(value: str | list[float]) -> Vector:
    """Read a vector; servers that do not know base64 send numbers."""
    if isinstance(value, str):
        data = base64.b64decode(value, validate=True)
        value = list(struct.unpack(f"<{len(data) // 4}f", data))
    elif not isinstance(value, list) or not set(map(type, value)) <= {int, float}:
        raise ValueError("texts and truth values are no numbers")
    return Vector(value)


def _wait_seconds(response: httpx.Response, attempt: int) -> float:
    asked = _retry_after(response)
    return min(0.5 * 2**attempt if asked is None else asked, _LONGEST_WAIT_SECONDS)


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that the gateway asks to wait; None where it names none."""
    try:
        return max(float(response.headers.get("Retry-After", "")), 0.0)
    except ValueError:
        return None


def _refusal(response: httpx.Response, model: str) -> GatewayUnavailableError:
    """Say what the gateway said; its messages name the remedy."""
    token = response.request.headers.get("Authorization", "").removeprefix("Bearer ")
    code = ""
    try:
        error = answer_json(response)["error"]
        message, code = one_line(str(error["message"]), [token]), str(error.get("code"))
    except (ValueError, KeyError, TypeError, AttributeError):
        message = f"status {response.status_code}"
    hint = "run this again once it is mended: what is missing a vector is remembered"
    if code.startswith("provider_key"):
        hint = (
            "put the provider's key into the gateway's environment or --env-file (of `pgblend up`: "
            "gateway.env in its folder, then pgblend gateway restart), then run this again"
        )
    elif response.status_code in (401, 403):
        hint = (
            f"put the gateway's token into {TOKEN_VARIABLE}, or, for the one of `pgblend up`, "
            f"its folder into {DATA_DIRECTORY_VARIABLE}"
        )
    return GatewayUnavailableError(
        f"model {model!r}: {message}",
        hint,
        may_be_the_text=response.status_code in _MAY_BE_THE_TEXT,
        retry_after=_retry_after(response),
    )
