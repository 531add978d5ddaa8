"""What the test provider's models answer: always the same for the same request."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

DEFAULT_DIMENSIONS = 384
_EXPANSION = {
    "type": "object",
    "properties": {
        "lexicalQueries": {"type": "array", "items": {"type": "string"}},
        "vectorQueries": {"type": "array", "items": {"type": "string"}},
        "hyde": {"type": "string"},
        "notes": {"type": "string"},
    },
}


@lru_cache(maxsize=50_000)
def _word_vector(word: str, dimensions: int) -> NDArray[np.float64]:
    digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(dimensions)
    return np.frombuffer(digest, np.uint8) - 127.5


def words_of(text: str) -> list[str]:
    """Return a text's words in lower case."""
    return re.findall(r"\w+", text.lower())


def embed(text: str, dimensions: int = DEFAULT_DIMENSIONS) -> list[float]:
    """Return the provider's vector of a text: the normalised sum of its words' hashes."""
    words = words_of(text) or [text]
    total = np.sum([_word_vector(word, dimensions) for word in words], axis=0)
    unit: list[float] = (total / np.linalg.norm(total)).astype(np.float32).tolist()
    return unit


def relevance(query: str, document: str) -> float:
    """Return the provider's rerank score: the share of the query's words that a text has."""
    wanted = set(words_of(query))
    return len(wanted & set(words_of(document))) / len(wanted) if wanted else 0.0


def embeddings_answer(
    body: dict[str, Any],
    dimensions: int | None,
    missing: int,
    without_index: bool,
    not_a_number: bool,
    directionless: str,
) -> dict[str, Any]:
    """Return the answer to an embeddings request in OpenAI's shape."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    dimensions = dimensions or body.get("dimensions") or DEFAULT_DIMENSIONS
    vectors: list[Any] = [embed(text, dimensions) for text in texts]
    if directionless:
        vectors = [
            [0.0] * dimensions if directionless in text else vector
            for text, vector in zip(texts, vectors, strict=True)
        ]
    vectors = vectors[: len(vectors) - missing]
    if not_a_number:
        vectors = [[float("nan"), *vector[1:]] for vector in vectors]
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(np.array(v, "<f4").tobytes()).decode() for v in vectors]
    tokens = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "model": body["model"],
        "data": [
            {"object": "embedding", "embedding": vector}
            | ({} if without_index else {"index": index})
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def rerank_answer(body: dict[str, Any]) -> Any:
    """Return the answer to a rerank request, best first, in the shape of Cohere.

    Where it has `texts`, in that of text-embeddings-inference.
    """
    if "texts" in body:
        scores = [relevance(body["query"], text) for text in body["texts"]]
        places = sorted(range(len(scores)), key=lambda place: -scores[place])
        return [{"index": place, "score": scores[place]} for place in places]
    scored = [
        {"index": index, "relevance_score": relevance(body["query"], document)}
        for index, document in enumerate(body["documents"])
    ]
    scored.sort(key=lambda item: (-item["relevance_score"], item["index"]))
    return {
        "id": "rerank-test",
        "results": scored[: body.get("top_n") or len(scored)],
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
    }


def chat_reply(body: dict[str, Any]) -> str:
    """Return what the model says: JSON where a schema asks for it, else a plain sentence."""
    system = " ".join(_texts(m) for m in body["messages"] if m["role"] == "system")
    asked = _texts(body["messages"][-1])
    images = _images(body["messages"])
    shape = body.get("response_format") or {}
    if shape.get("type") == "json_schema":
        return json.dumps(sample(shape["json_schema"]["schema"], asked))
    if "lexicalQueries" in system:  # the prompt of an expansion, to a model without schemas
        return json.dumps(sample(_EXPANSION, asked))
    if shape.get("type") == "json_object":
        return json.dumps({"answer": asked})
    seen = "".join(f" It saw picture {digest}." for digest in images)
    return f"The test model's answer to: {' '.join(asked.split()[-60:])}{seen}"


def sample(schema: dict[str, Any], text: str, name: str = "value") -> Any:
    """Return a value that fits a JSON Schema, made of a text."""
    kind = schema.get("type")
    kind = next(k for k in kind if k != "null") if isinstance(kind, list) else kind
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {key: sample(part, text, key) for key, part in schema["properties"].items()}
    if kind == "array":
        return [sample(schema["items"], text, f"{name} {number}") for number in (1, 2)]
    return {"integer": 1, "number": 0.5, "boolean": True}.get(str(kind), f"{text} {name}")


def chat_answer(
    body: dict[str, Any], reply: str, finish_reason: str = "stop", refusal: str = ""
) -> dict[str, Any]:
    """Return a chat completion in OpenAI's shape; with a refusal it has no text."""
    said = {"content": None, "refusal": refusal} if refusal else {"content": reply}
    return {
        **_frame(body, "chat.completion"),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", **said},
                "finish_reason": finish_reason,
            }
        ],
        "usage": _usage(body, reply),
    }


def chat_events(
    body: dict[str, Any], reply: str, pieces: Iterable[str] | None = None
) -> Iterator[bytes]:
    """Yield a streamed chat completion, a piece an event; without pieces a word an event."""
    frame = _frame(body, "chat.completion.chunk")
    words = re.findall(r"\S+\s*|\s+", reply) if pieces is None else pieces
    contents = ({"content": part} for part in words)
    for delta in chain([{"role": "assistant", "content": ""}], contents):
        yield _event({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _event({**frame, "choices": [], "usage": _usage(body, reply)})
    yield b"data: [DONE]\n\n"


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(content).encode() + b"\n\n"


def _frame(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-test", "object": kind, "created": 1, "model": body["model"]}


def _usage(body: dict[str, Any], reply: str) -> dict[str, int]:
    asked = sum(len(_texts(message).split()) for message in body["messages"])
    told = len(reply.split())
    return {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told}


def _texts(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part["type"] == "text")


def _images(messages: list[dict[str, Any]]) -> list[str]:
    parts = [p for m in messages if isinstance(m["content"], list) for p in m["content"]]
    urls = [part["image_url"] for part in parts if part["type"] == "image_url"]
    urls = [url["url"] if isinstance(url, dict) else url for url in urls]
    return [hashlib.sha256(url.encode()).hexdigest()[:8] for url in urls]
