"""Query expansion and HyDE: one call of a chat model each, checked before anybody uses it."""

from typing import Any

from pgblend.cli.gateway import expansion_guard as guard
from pgblend.cli.gateway.answer_cache import AnswerCache
from pgblend.cli.gateway.chat import Chat
from pgblend.cli.gateway.chat_request import ChatRequest
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import bad_answer
from pgblend.cli.gateway.expansion_answer import (
    RESPONSE_FORMAT,
    InvalidExpansionError,
    read_expansion,
)
from pgblend.cli.gateway.expansion_request import ExpansionRequest
from pgblend.cli.gateway.prompts import Prompt, prompt_for
from pgblend.cli.gateway.providers import Providers
from pgblend.cli.gateway.query_language import query_language

_EXPANSION_TOKENS = 700
_HYDE_TOKENS = 300
Answer = dict[str, Any]


class Expander:
    """Makes variants of a query and a passage that would answer it."""

    def __init__(self, providers: Providers, chat: Chat, cache: AnswerCache) -> None:
        self._providers = providers
        self._chat = chat
        self._cache = cache

    async def expand(self, request: ExpansionRequest, deadline: Deadline) -> Answer:
        """Return the body of the answer to /v1/expand."""
        language = request.language or query_language(request.query)
        prompt = prompt_for("expansion", language)
        key = self._cache.key(prompt.version, request.model, request.query, language)
        kept = self._cache.get(key)
        if kept is None:
            kept = await self._ask_expansion(request, prompt, deadline)
            self._cache.put(key, kept)
            cached = False
        else:
            cached = True
        about = {"queryLanguage": language, "promptVersion": prompt.version, "cached": cached}
        return {**kept, **about}

    async def hyde(self, request: ExpansionRequest, deadline: Deadline) -> Answer:
        """Return the body of the answer to /v1/hyde."""
        language = request.language or query_language(request.query)
        prompt = prompt_for("hyde", language)
        key = self._cache.key(prompt.version, request.model, request.query, language)
        kept = self._cache.get(key)
        cached = kept is not None
        if kept is None:
            text = await self._ask(request, prompt, deadline, max_tokens=_HYDE_TOKENS)
            kept = {"hyde": guard.passage(guard.read_query(request.query), text)}
            self._cache.put(key, kept)
        about = {"queryLanguage": language, "promptVersion": prompt.version, "cached": cached}
        return {**kept, **about}

    async def _ask_expansion(
        self, request: ExpansionRequest, prompt: Prompt, deadline: Deadline
    ) -> Answer:
        litellm = await self._providers.load()
        options: dict[str, Any] = {"max_tokens": _EXPANSION_TOKENS}
        if litellm.supports_response_schema(request.model):
            options["response_format"] = RESPONSE_FORMAT
        text = await self._ask(request, prompt, deadline, **options)
        try:
            said = read_expansion(text)
        except InvalidExpansionError as error:
            message = f"{request.model} gave an expansion that cannot be used: {error}"
            raise bad_answer(message) from None
        query = guard.read_query(request.query)
        return {
            "lexicalQueries": guard.lexical_variants(query, said["lexicalQueries"]),
            "vectorQueries": guard.vector_variants(query, said["vectorQueries"]),
            "hyde": guard.passage(query, said.get("hyde")),
            "notes": guard.notes(said.get("notes")),
        }

    async def _ask(
        self, request: ExpansionRequest, prompt: Prompt, deadline: Deadline, **options: Any
    ) -> str:
        messages = [
            {"role": "system", "content": prompt.text},
            {"role": "user", "content": request.query},
        ]
        # The same query is to get the same variants from a model that can do so.
        options = {"temperature": 0, **options}
        answer = await self._chat.answer(ChatRequest(request.model, messages, options), deadline)
        return str(answer["choices"][0]["message"]["content"])
