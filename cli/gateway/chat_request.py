"""What a caller may send to /v1/chat/completions: OpenAI's fields for texts and pictures."""

from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.gateway import fields

MAX_MESSAGES = 200
MAX_TOKENS = 1_000_000
_OPTIONS = {
    "frequency_penalty",
    "max_completion_tokens",
    "max_tokens",
    "presence_penalty",
    "response_format",
    "seed",
    "stop",
    "temperature",
    "top_p",
}
_FIELDS = {"messages", "model", "stream", "stream_options", "timeout_ms", "user"} | _OPTIONS
_TASKS = {"answer", "entity", "prefix", "summary", "vision"}
_ROLES = {"assistant", "developer", "system", "user"}


@dataclass(frozen=True)
class ChatRequest:
    """A checked call: which model, what was said, and how to answer."""

    model: str
    messages: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)  # as OpenAI names them
    stream: bool = False
    task: str = "chat"  # for the ledger
    timeout_ms: int | None = None


def parse_chat_request(body: bytes) -> ChatRequest:
    """Return the checked call, or raise a GatewayError that names the offending field."""
    given = fields.json_object(body, _FIELDS)
    stream = given.get("stream")
    if stream not in (None, True, False):
        raise fields.bad("invalid_stream", "`stream` must be true or false", "stream")
    _check_options(given)
    return ChatRequest(
        fields.model_name(given.get("model")),
        _messages(given.get("messages")),
        {name: given[name] for name in _OPTIONS if given.get(name) is not None},
        bool(stream),
        _task(given.get("user")),
        fields.timeout_ms(given.get("timeout_ms")),
    )


def _task(user: object) -> str:
    """Return the task that OpenAI's field for the end user names: pgblend:answer and so on."""
    prefix, _, task = user.partition(":") if isinstance(user, str) else ("", "", "")
    return task if prefix == "pgblend" and task in _TASKS else "chat"


def _messages(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        message = "`messages` must be a list of at least one message"
        raise fields.bad("invalid_messages", message, "messages")
    if len(value) > MAX_MESSAGES:
        message = f"`messages` has {len(value)} messages; send at most {MAX_MESSAGES}"
        raise fields.bad("too_many_messages", message, "messages")
    return [_message(item, f"messages[{index}]") for index, item in enumerate(value)]


def _message(value: object, param: str) -> dict[str, Any]:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        roles = ", ".join(sorted(_ROLES))
        message = f"`{param}` must be an object with a role ({roles}) and a content"
        raise fields.bad("invalid_messages", message, param)
    content = value.get("content")
    if isinstance(content, list) and content:
        parts = [_part(part, f"{param}.content[{i}]") for i, part in enumerate(content)]
        return {"role": value["role"], "content": parts}
    return {"role": value["role"], "content": fields.text(content, f"{param}.content")}


def _part(value: object, param: str) -> dict[str, Any]:
    match value:
        case {"type": "text", "text": said}:
            return {"type": "text", "text": fields.text(said, f"{param}.text")}
        case {"type": "image_url", "image_url": {"url": str(url)} as image}:
            # A picture is sent along: an address would let a document choose what is fetched.
            if url.startswith("data:image/"):
                return {"type": "image_url", "image_url": image}
    message = f"`{param}` must be a text, or an image_url with a data:image/…;base64 URL"
    raise fields.bad("invalid_messages", message, param)


def _check_options(given: dict[str, Any]) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        fields.whole_number(given.get(name), name, 1, MAX_TOKENS)
    for name, least, most in (
        ("temperature", 0, 2),
        ("top_p", 0, 1),
        ("frequency_penalty", -2, 2),
        ("presence_penalty", -2, 2),
    ):
        fields.number(given.get(name), name, least, most)
    shape = given.get("response_format")
    if shape is not None and not (isinstance(shape, dict) and isinstance(shape.get("type"), str)):
        message = "`response_format` must be an object with a type"
        raise fields.bad("invalid_response_format", message, "response_format")
