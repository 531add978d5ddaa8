"""A chat model as reranker, where there is no rerank model: one call scores all documents."""

import json
from typing import Any

from json_repair import repair_json

from pgblend.cli.gateway.chat import Chat
from pgblend.cli.gateway.chat_request import ChatRequest
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError, bad_answer
from pgblend.cli.gateway.prompts import read_prompt
from pgblend.cli.gateway.providers import Providers

MAX_DOCUMENTS = 50  # more, and a chat model loses count
_FULL_SCORE = 100
_RESPONSE_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "relevance",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"scores": {"type": "array", "items": {"type": "integer"}}},
            "required": ["scores"],
            "additionalProperties": False,
        },
    },
}


class ChatReranker:
    """Asks a chat model for scores."""

    def __init__(self, providers: Providers, chat: Chat) -> None:
        self._providers = providers
        self._chat = chat

    async def scores(
        self, model: str, query: str, documents: list[str], deadline: Deadline
    ) -> list[float]:
        """Return each document's score in [0, 1]."""
        if len(documents) > MAX_DOCUMENTS:
            message = (
                f"{model} is a chat model, which scores at most {MAX_DOCUMENTS} documents, "
                f"not {len(documents)}"
            )
            raise GatewayError(400, "too_many_documents", message, param="documents")
        asked = {
            "query": query,
            "passages": [
                {"number": number, "text": text} for number, text in enumerate(documents, 1)
            ],
        }
        messages = [
            {"role": "system", "content": read_prompt("rerank").text},
            {"role": "user", "content": json.dumps(asked, ensure_ascii=False)},
        ]
        options: dict[str, Any] = {"temperature": 0, "max_tokens": 100 + 8 * len(documents)}
        if await self._providers.takes_schema(model):
            options["response_format"] = _RESPONSE_FORMAT
        request = ChatRequest(model, messages, options, task="rerank")
        answer = await self._chat.answer_of(request, model, deadline)
        text = answer["choices"][0]["message"]["content"]
        return _read(text, model, len(documents))


def _read(text: str, model: str, count: int) -> list[float]:
    try:
        said = repair_json(text[text.find("{") :], return_objects=True) if "{" in text else None
    except RecursionError:
        raise bad_answer(f"{model} gave scores that are nested too deeply") from None
    scores = said.get("scores") if isinstance(said, dict) else None
    if not isinstance(scores, list) or len(scores) != count:
        raise bad_answer(f"{model} gave no list of {count} scores")
    if not all(type(s) in (int, float) and 0 <= s <= _FULL_SCORE for s in scores):
        raise bad_answer(f"{model} gave a score that is not a number from 0 to {_FULL_SCORE}")
    return [score / _FULL_SCORE for score in scores]
