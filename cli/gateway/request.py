"""What a caller may send to /v1/embeddings, checked before any model is touched."""

from dataclasses import dataclass
from typing import Literal

from pgblend.cli.gateway import fields

MAX_INPUTS = 2048  # as OpenAI
MAX_DIMENSIONS = 65_536
_FIELDS = {"model", "input", "dimensions", "encoding_format", "input_type", "timeout_ms", "user"}


@dataclass(frozen=True)
class EmbeddingsRequest:
    """A checked call: which model, which texts, in which form the vectors are wanted."""

    model: str
    texts: list[str]
    dimensions: int | None
    encoding_format: Literal["float", "base64"]
    is_passage: bool = False
    timeout_ms: int | None = None


def parse_embeddings_request(body: bytes) -> EmbeddingsRequest:
    """Return the checked call, or raise a GatewayError that names the offending field."""
    given = fields.json_object(body, _FIELDS)
    return EmbeddingsRequest(
        fields.model_name(given.get("model")),
        _texts(given.get("input")),
        fields.whole_number(given.get("dimensions"), "dimensions", 1, MAX_DIMENSIONS),
        _encoding_format(given.get("encoding_format")),
        _is_passage(given.get("input_type")),
        fields.timeout_ms(given.get("timeout_ms")),
    )


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [fields.text(value, "input")]
    if not isinstance(value, list):
        message = "`input` must be a string or a list of strings"
        raise fields.bad("invalid_input", message, "input")
    if not value:
        message = "`input` is an empty list; send at least one text"
        raise fields.bad("empty_input", message, "input")
    if len(value) > MAX_INPUTS:
        message = f"`input` has {len(value)} texts; send at most {MAX_INPUTS} in one call"
        raise fields.bad("too_many_inputs", message, "input")
    return [fields.text(item, f"input[{index}]") for index, item in enumerate(value)]


def _encoding_format(value: object) -> Literal["float", "base64"]:
    match value:
        case None | "float":
            return "float"
        case "base64":
            return "base64"
    message = "`encoding_format` must be 'float' or 'base64'"
    raise fields.bad("invalid_encoding_format", message, "encoding_format")


def _is_passage(value: object) -> bool:
    """Return whether the texts are passages, to be found, and no questions."""
    match value:
        case None | "query":
            return False
        case "passage":
            return True
    message = "`input_type` must be 'query' or 'passage'"
    raise fields.bad("invalid_input_type", message, "input_type")
