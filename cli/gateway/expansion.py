"""Query expansion and HyDE: one call of a chat model each, checked before anybody uses it."""

from functools import partial
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
from pgblend.cli.gateway.fallback import first_answer
from pgblend.cli.gateway.prompts import Prompt, Task, prompt_for
from pgblend.cli.gateway.providers import Providers
from pgblend.cli.gateway.query_language import query_language

_TOKENS = {"expansion": 700, "hyde": 300}
Answer = dict[str, Any]


class Expander:
    """Makes variants of a query, and a passage that would answer it."""

    def __init__(self, providers: Providers, chat: Chat, cache: AnswerCache) -> None:
        self.cache = cache
        self._providers = providers
        self._chat = chat

    async def answer(self, task: Task, request: ExpansionRequest, deadline: Deadline) -> Answer:
        """Return the body of the answer to /v1/expand or /v1/hyde."""
        language = request.language or query_language(request.query)
        models = [request.model, *self._providers.policy.fallbacks.get(task, ())]
        ask = partial(self._answer_of, task, request.query, language)
        return await first_answer(models, deadline, ask)

    async def _answer_of(
        self, task: Task, query: str, language: str, model: str, deadline: Deadline
    ) -> Answer:
        prompt = prompt_for(task, language)
        key = self.cache.key(prompt.version, model, query, language)
        kept = await self.cache.get(key)
        cached = kept is not None
        if kept is None:
            ask = self._expansion if task == "expansion" else self._hyde
            kept = await ask(query, model, prompt, deadline)
            self.cache.put(key, kept)
        about = {"queryLanguage": language, "promptVersion": prompt.version, "cached": cached}
        return {**kept, **about}

    async def _hyde(self, query: str, model: str, prompt: Prompt, deadline: Deadline) -> Answer:
        text = await self._ask("hyde", query, model, prompt, deadline)
        return {"hyde": guard.passage(guard.read_query(query), text)}

    async def _expansion(
        self, query: str, model: str, prompt: Prompt, deadline: Deadline
    ) -> Answer:
        structured = await self._providers.takes_schema(model)
        options = {"response_format": RESPONSE_FORMAT} if structured else {}
        text = await self._ask("expansion", query, model, prompt, deadline, **options)
        try:
            said = read_expansion(text)
        except InvalidExpansionError as error:
            raise bad_answer(f"{model} gave an expansion that cannot be used: {error}") from None
        read = guard.read_query(query)
        return {
            "lexicalQueries": guard.lexical_variants(read, said["lexicalQueries"]),
            "vectorQueries": guard.vector_variants(read, said["vectorQueries"]),
            "hyde": guard.passage(read, said.get("hyde")),
            "notes": guard.notes(said.get("notes")),
        }

    async def _ask(
        self,
        task: Task,
        query: str,
        model: str,
        prompt: Prompt,
        deadline: Deadline,
        **options: Any,
    ) -> str:
        messages = [
            {"role": "system", "content": prompt.text},
            {"role": "user", "content": query},
        ]
        # The same query is to get the same variants from a model that can do so.
        options = {"temperature": 0, "max_tokens": _TOKENS[task], **options}
        request = ChatRequest(model, messages, options, task=task)
        answer = await self._chat.answer_of(request, model, deadline)
        return str(answer["choices"][0]["message"]["content"])
