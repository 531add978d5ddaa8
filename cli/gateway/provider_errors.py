"""What litellm raises, turned into errors that say what to do and give no secret away.

litellm's types alone do not tell: an unreachable host, a missing key and an answer that is not JSON
all arrive as InternalServerError. So the status, the answer's headers and the causes are read too.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import httpx

from pgblend.cli.bounded_answer import AnswerTooLargeError, RedirectedError, TruthValueError
from pgblend.cli.gateway.errors import GatewayError, bad_answer
from pgblend.plpy.models.answer import mask_secrets, whole_letters

_MAX_MESSAGE = 300
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$")
_TIMEOUTS = (TimeoutError, httpx.TimeoutException)
_API_KEY = re.compile(r"api[ _-]?key|credentials", re.IGNORECASE)
# What litellm puts before a message, once for each layer.
_WRAPPER = re.compile(r"(?:litellm\.)?\b\w*(?:Error|Exception|Timeout)(?::| -) |LiteLLM: ")
_UNREACHABLE = (httpx.TransportError, OSError)


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
            hint = "name the address that it leads to, if it is to be trusted with the key"
            return GatewayError(502, "provider_redirects", f"{provider}: {cause}; {hint}")
    if isinstance(error, litellm.Timeout) or any(isinstance(c, _TIMEOUTS) for c in causes):
        return GatewayError(504, "provider_timeout", f"{provider} did not answer in time")
    if status == 429:
        message = f"{provider} limits the rate: {reason}"
        return GatewayError(429, "provider_rate_limit", message, retry_after=_retry_after(error))
    if any(isinstance(cause, _UNREACHABLE) for cause in causes):
        return GatewayError(502, "provider_unreachable", f"{provider} cannot be reached")
    if status == 404 or isinstance(error, litellm.LiteLLMUnknownProvider):
        message = f"{provider} has no {kind} model {model!r}"
        return GatewayError(404, "model_not_found", message, param="model")
    if status in (401, 403) or not _answered(error):
        missing = [] if key else litellm.validate_environment(model).get("missing_keys") or []
        if missing or _API_KEY.search(reason) or status in (401, 403):
            return _key_error(provider, missing, reason if not _answered(error) else "")
    return _refusal(error, status, provider, reason)


def _key_error(provider: str, missing: list[str], reason: str) -> GatewayError:
    if missing:
        names = (" or " if provider == "gemini" else ", ").join(missing)
        message = f"no key for {provider}: set {names} in the gateway's environment or --env-file"
        return GatewayError(401, "provider_key_missing", message)
    if reason:
        return GatewayError(401, "provider_key_missing", f"no key for {provider}: {reason}")
    # What the provider says may quote the key.
    message = f"{provider} refused the gateway's key"
    return GatewayError(401, "provider_key_rejected", message)


def _refusal(error: Exception, status: object, provider: str, reason: str) -> GatewayError:
    if isinstance(status, int) and 400 <= status < 500:
        message = f"{provider} refused the call: {reason}"
        return GatewayError(400, "provider_rejected_request", message)
    if not _answered(error):
        message = f"{provider} gave an answer that cannot be read: {reason}"
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
