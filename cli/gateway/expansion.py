"""Query expansion and HyDE: one call of a chat model each, checked before anybody uses it."""

import json
from functools import partial
from typing import Any

from pgblend.cli.gateway import expansion_guard as guard
from pgblend.cli.gateway.answer_cache import AnswerCache
from pgblend.cli.gateway.chat import Chat
from pgblend.cli.gateway.chat_request import ChatRequest
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import bad_answer
from pgblend.cli.gateway.expansion_answer import (
    InvalidExpansionError,
    read_expansion,
    response_format,
)
from pgblend.cli.gateway.expansion_request import ExpansionRequest
from pgblend.cli.gateway.fallback import first_answer
from pgblend.cli.gateway.prompts import Prompt, Task, joined_prompt, prompt_for, read_prompt
from pgblend.cli.gateway.providers import Providers
from pgblend.cli.gateway.query_language import query_language

_TOKENS = {"expansion": 700, "hyde": 300}
_TOKENS_OF_QUESTION = 50
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
        ask = partial(self._answer_of, task, request, language)
        return await first_answer(models, deadline, ask)

    async def _answer_of(
        self, task: Task, request: ExpansionRequest, language: str, model: str, deadline: Deadline
    ) -> Answer:
        prompt = _prompt(task, request, language)
        asked = _message(task, request)
        key = self.cache.key(prompt.version, model, asked, language)
        kept = await self.cache.get(key)
        cached = kept is not None
        if kept is None:
            said = await self._ask(task, request, asked, model, prompt, deadline)
            read = self._expansion if task == "expansion" else self._hyde
            kept = read(request, said, model)
            self.cache.put(key, kept)
        about = {"queryLanguage": language, "promptVersion": prompt.version, "cached": cached}
        return {**kept, **about}

    def _hyde(self, request: ExpansionRequest, text: str, model: str) -> Answer:
        return {"hyde": guard.passage(guard.read_query(request.query), text)}

    def _expansion(self, request: ExpansionRequest, text: str, model: str) -> Answer:
        try:
            said = read_expansion(text)
        except InvalidExpansionError as error:
            raise bad_answer(f"{model} gave an expansion that cannot be used: {error}") from None
        read = guard.read_query(request.query)
        questions = guard.sub_questions(read, said.get("subQuestions", []), request.sub_questions)
        if len(questions) == 1 and not request.history:  # the query itself, in other words
            questions = []
        return {
            "lexicalQueries": guard.lexical_variants(read, said["lexicalQueries"]),
            "vectorQueries": guard.vector_variants(read, said["vectorQueries"]),
            "hyde": guard.passage(read, said.get("hyde")),
            "notes": guard.notes(said.get("notes")),
            **({"subQuestions": questions} if request.sub_questions else {}),
        }

    async def _ask(
        self,
        task: Task,
        request: ExpansionRequest,
        asked: str,
        model: str,
        prompt: Prompt,
        deadline: Deadline,
    ) -> str:
        messages = [
            {"role": "system", "content": prompt.text},
            {"role": "user", "content": asked},
        ]
        # The same query is to get the same variants from a model that can do so.
        tokens = _TOKENS[task] + _TOKENS_OF_QUESTION * request.sub_questions
        options: Answer = {"temperature": 0, "max_tokens": tokens}
        if task == "expansion" and await self._providers.takes_schema(model):
            options["response_format"] = response_format(request.sub_questions > 0)
        call = ChatRequest(model, messages, options, task=task)
        answer = await self._chat.answer_of(call, model, deadline)
        choice = answer["choices"][0]
        if task == "expansion" and choice["finish_reason"] == "length":
            raise bad_answer(f"{model} gave no whole expansion: it was cut off at {tokens} tokens")
        return str(choice["message"]["content"])


def _prompt(task: Task, request: ExpansionRequest, language: str) -> Prompt:
    """Return the prompt of a task, with what sub-questions and a chat add to it."""
    prompt = prompt_for(task, language)
    if task == "hyde" or not request.sub_questions:
        return prompt
    more = ["sub-questions", *(["history"] if request.history else [])]
    return joined_prompt([prompt, *map(read_prompt, more)], request.sub_questions)


def _message(task: Task, request: ExpansionRequest) -> str:
    """Return what the user says: the query, or with a chat before it both as JSON."""
    if task == "hyde" or not (request.sub_questions and request.history):
        return request.query
    chat = {"chat": request.history, "query": request.query}
    return json.dumps(chat, ensure_ascii=False)
