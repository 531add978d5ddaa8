"""What a caller may send to /v1/expand and /v1/hyde."""

import re
from dataclasses import dataclass

from pgblend.cli.gateway import fields

MAX_QUERY_CHARACTERS = 4000
MAX_SUB_QUESTIONS = 4
MAX_MESSAGES = 20
MAX_HISTORY_CHARACTERS = 8000  # of the newest messages: a model has seconds to read them
_FIELDS = {"history", "language", "model", "query", "sub_questions", "timeout_ms"}
_ROLES = ("assistant", "user")
Message = dict[str, str]


@dataclass(frozen=True)
class ExpansionRequest:
    """A checked call: which query, in which language (ISO 639-1; None: to be detected).

    `history` is the chat before it, the oldest message first; `sub_questions` how many to make.
    """

    model: str
    query: str
    language: str | None = None
    timeout_ms: int | None = None
    history: tuple[Message, ...] = ()
    sub_questions: int = 0


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
        _history(given.get("history")),
        fields.whole_number(given.get("sub_questions"), "sub_questions", 0, MAX_SUB_QUESTIONS) or 0,
    )


def _history(value: object) -> tuple[Message, ...]:
    """Return the newest messages that fit, the oldest first."""
    value = [] if value is None else value
    if not isinstance(value, list) or len(value) > MAX_MESSAGES:
        message = f"`history` must be a list of at most {MAX_MESSAGES} messages"
        raise fields.bad("invalid_history", message, "history")
    kept: list[Message] = []
    room = MAX_HISTORY_CHARACTERS
    for place, said in reversed(list(enumerate(value))):
        param = f"history[{place}]"
        if not isinstance(said, dict) or said.get("role") not in _ROLES:
            message = f"`{param}` must be an object with a role ({', '.join(_ROLES)}) and a content"
            raise fields.bad("invalid_history", message, param)
        content = fields.text(said.get("content"), f"{param}.content")
        if room > 0:
            kept.append({"role": said["role"], "content": content[:room]})
        room -= len(content)
    return tuple(reversed(kept))
