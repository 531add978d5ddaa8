"""What a caller may send to /v1/expand and /v1/hyde."""

import re
from dataclasses import dataclass

from pgblend.cli.gateway import fields

MAX_QUERY_CHARACTERS = 4000
_FIELDS = {"language", "model", "query", "timeout_ms"}


@dataclass(frozen=True)
class ExpansionRequest:
    """A checked call: which query, in which language (ISO 639-1; None: to be detected)."""

    model: str
    query: str
    language: str | None = None
    timeout_ms: int | None = None


def parse_expansion_request(body: bytes) -> ExpansionRequest:
    """Return the checked call, or raise a GatewayError that names the offending field."""
    given = fields.json_object(body, _FIELDS)
    query = " ".join(fields.text(given.get("query"), "query").split())
    if not query:
        raise fields.bad("empty_input", "`query` is blank", "query")
    if len(query) > MAX_QUERY_CHARACTERS:
        message = f"`query` has {len(query)} characters; send at most {MAX_QUERY_CHARACTERS}"
        raise fields.bad("query_too_long", message, "query")
    language = given.get("language")
    if language is not None and not (
        isinstance(language, str) and re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{1,8})*", language)
    ):
        message = "`language` must be an ISO 639 code such as 'en'"
        raise fields.bad("invalid_language", message, "language")
    return ExpansionRequest(
        fields.model_name(given.get("model")),
        query,
        language and language.split("-")[0],
        fields.timeout_ms(given.get("timeout_ms")),
    )
