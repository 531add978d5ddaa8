"""Query expansion and HyDE: one call of a chat model each, checked before anybody uses it."""

import json
import re
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

from json_repair import repair_json

from pgblend.cli.documents.language import likely_language
from pgblend.cli.models import fields
from pgblend.cli.models.cache import AnswerCache
from pgblend.cli.models.chat import Chat, ChatRequest
from pgblend.cli.models.openai_errors import bad_answer
from pgblend.cli.models.prompts import Prompt, Task, joined_prompt, prompt_for, read_prompt
from pgblend.cli.models.providers import Providers
from pgblend.cli.models.retry import CallDeadline, first_answer
from pgblend.plpy.lexical.forms import identifiers
from pgblend.plpy.models.outcome import storable

# The language of a query.

UNDETERMINED = "und"  # as ISO 639 has it
# Below, a guess at a query's few words is wrong too often: the prompt for all languages serves.
_LEAST_SCORE = 0.4


def query_language(query: str) -> str:
    """Return a query's ISO 639 code, `und` where it cannot be told."""
    language, score = likely_language(query[:1000])
    return language if score >= _LEAST_SCORE else UNDETERMINED


# What a caller may send to /v1/expand and /v1/hyde.

MAX_QUERY_CHARACTERS = 4000
MAX_SUB_QUESTIONS = 4
MAX_MESSAGES = 20
MAX_HISTORY_CHARACTERS = 8000  # of the newest messages: a model has seconds to read them
Message = dict[str, str]
_read = fields.reader(
    ["model", "query"],
    {
        "history": {
            "type": ["array", "null"],
            "maxItems": MAX_MESSAGES,
            "items": {
                "type": "object",
                "required": ["role", "content"],
                "properties": {"role": {"enum": ["assistant", "user"]}, "content": fields.TEXT},
                "codes": {"": "invalid_history"},
            },
        },
        "language": {
            "type": ["string", "null"],
            "pattern": "^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$",
            "description": "an ISO 639 code such as 'en'",
        },
        "model": fields.MODEL,
        "query": fields.TEXT,
        "sub_questions": fields.whole_number(0, MAX_SUB_QUESTIONS),
        "timeout_ms": fields.TIMEOUT,
    },
)


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
    given = _read(body)
    query = " ".join(given["query"].split())
    if not query:
        raise fields.bad("empty_input", "`query` is blank", "query")
    if len(query) > MAX_QUERY_CHARACTERS:
        message = f"`query` has {len(query)} characters: send at most {MAX_QUERY_CHARACTERS}"
        raise fields.bad("query_too_long", message, "query")
    language = given.get("language")
    return ExpansionRequest(
        given["model"],
        query,
        language and language.split("-")[0],
        given.get("timeout_ms"),
        _newest(given.get("history", [])),
        given.get("sub_questions", 0),
    )


def _newest(history: list[Message]) -> tuple[Message, ...]:
    """Return the newest messages that fit, the oldest first."""
    kept: list[Message] = []
    room = MAX_HISTORY_CHARACTERS
    for said in reversed(history):
        if room > 0:
            kept.append({"role": said["role"], "content": said["content"][:room]})
        room -= len(said["content"])
    return tuple(reversed(kept))


# Guardrails: what a model made of a query may not lose, add or repeat.

MAX_VARIANTS = 4
MAX_VARIANT_CHARACTERS = 200
MAX_PASSAGE_CHARACTERS = 1500
MAX_NOTES_CHARACTERS = 300
_QUOTED = re.compile(r'(?<![\w"])-?"[^"]+"')
_NEGATED = re.compile(r"(?<!\S)-(?=\w)\S+")
_PREFIX = 5  # so much of a word is compared: deploy and deployment are one
_LEAST_LETTERS = 4  # shorter words are mostly those that every text has


@dataclass(frozen=True)
class GuardedQuery:
    """A query and the parts of it that must survive."""

    text: str
    quoted: tuple[str, ...]  # with their quotation marks, and a minus sign where excluded
    negated: tuple[str, ...]  # -word
    identifiers: tuple[str, ...]  # as the query writes them


def read_query(text: str) -> GuardedQuery:
    """Return a query with its quoted, negated and identifier terms."""
    quoted = tuple(_QUOTED.findall(text))
    rest = _QUOTED.sub(" ", text)
    negated = tuple(_NEGATED.findall(rest))
    rest = _NEGATED.sub(" ", rest)
    # They come case-folded; where that changes letters (ß), they stay so.
    found = [(name, re.search(re.escape(name), rest, re.I)) for name in identifiers(rest, False)]
    written = tuple(match.group() if match else name for name, match in found)
    return GuardedQuery(text, quoted, negated, written)


def lexical_variants(query: GuardedQuery, variants: list[str]) -> list[str]:
    """Return keyword queries: without operators of their own, with all the query insists on."""
    kept = []
    for variant in variants:
        plain = _without_operators(query, variant)
        missing = [name for name in query.identifiers if name.casefold() not in plain.casefold()]
        if plain:
            kept.append(" ".join([_cut(plain), *missing, *query.quoted, *query.negated]))
    return _distinct(query.text, kept)


def vector_variants(query: GuardedQuery, variants: list[str]) -> list[str]:
    """Return rephrasings: short enough, none twice, none the query itself."""
    return _distinct(query.text, [_cut(" ".join(variant.split())) for variant in variants])


def sub_questions(query: GuardedQuery, questions: list[str], most: int) -> list[str]:
    """Return questions to be searched one by one, without operators but the query's own.

    What the query quotes or excludes binds all rows, so each of them has it.
    """
    plain = [_cut(_without_operators(query, question)) for question in questions]
    conditions = [*query.quoted, *query.negated]
    return _distinct(query.text, [" ".join([text, *conditions]) for text in plain if text])[:most]


def _without_operators(query: GuardedQuery, text: str) -> str:
    """Return a model's text without operators, and without words that the query excludes.

    What the query insists on is put back as it stands there; operators are never the model's.
    """
    excluded = {term.lstrip("-").strip('"').casefold() for term in query.negated}
    words = (word.lstrip("-+") for word in re.sub(r'["“”„«»]', " ", text).split())
    kept = (word for word in words if word and word != "OR" and word.casefold() not in excluded)
    return " ".join(kept)


def passage(query: GuardedQuery, text: str | None) -> str | None:
    """Return a hypothetical answer, or None where it has lost what the query is about."""
    text = " ".join((text or "").split())
    if not text:
        return None
    folded = text.casefold()
    if any(name.casefold() not in folded for name in query.identifiers):
        return None
    if not _content_words(query) & _prefixes(text):
        return None
    return _cut(text, MAX_PASSAGE_CHARACTERS)


def notes(text: str | None) -> str | None:
    """Return the model's remark, cut to its limit."""
    return _cut(" ".join((text or "").split()), MAX_NOTES_CHARACTERS) or None


def _content_words(query: GuardedQuery) -> set[str]:
    text = query.text
    for term in query.negated:
        text = text.replace(term, " ")
    long = _prefixes(text, _LEAST_LETTERS)
    return long or _prefixes(text)


def _prefixes(text: str, least: int = 1) -> set[str]:
    words = re.findall(r"\w+", text.casefold())
    # A run of a script without spaces is no word: its pairs of characters are compared.
    pairs = {
        word[i : i + 2]
        for word in words
        if re.search(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]", word)
        for i in range(max(1, len(word) - 1))
    }
    return pairs | {word[:_PREFIX] for word in words if len(word) >= least}


def _distinct(query: str, variants: list[str]) -> list[str]:
    seen = {_normal(query)}
    kept = []
    for variant in variants:
        if variant and _normal(variant) not in seen:
            seen.add(_normal(variant))
            kept.append(variant)
    return kept[:MAX_VARIANTS]


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())


def _cut(text: str, most: int = MAX_VARIANT_CHARACTERS) -> str:
    """Return at most so many characters, cut between two words where there is a space."""
    if len(text) <= most:
        return text
    head, space, _ = text[: most + 1].rpartition(" ")
    return head if space else text[:most]


# What a model must answer to an expansion, and reading it.

_FILE = files("pgblend.cli.schemas") / "expansion.schema.json"
# What providers call strict: every field is required and no other allowed. Not all of them take
# limits on counts and lengths, so the guardrails have them. Nor are "$schema" and "title".
SCHEMA: dict[str, Any] = {
    name: value
    for name, value in json.loads(_FILE.read_text(encoding="utf-8")).items()
    if name not in ("$schema", "title")
}
_SUB_QUESTIONS = {"subQuestions": SCHEMA["properties"]["vectorQueries"]}


def response_format(has_sub_questions: bool) -> dict[str, Any]:
    """Return what asks a model for the schema; with sub-questions it has a field more."""
    more = _SUB_QUESTIONS if has_sub_questions else {}
    schema = SCHEMA | {
        "properties": SCHEMA["properties"] | more,
        "required": [*SCHEMA["required"], *more],
    }
    named = {"name": "query_expansion", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


class InvalidExpansionError(ValueError):
    """An answer is not what the schema asks for; the message says where."""


def read_expansion(text: str) -> dict[str, Any]:
    """Return the object in a model's answer, repairing its JSON once where that is needed."""
    fenced = re.search(r"```(?:json)?\s*(.*?)```", text, re.DOTALL)
    text = fenced.group(1) if fenced else text
    try:
        return _checked(json.loads(text))
    except RecursionError:
        raise InvalidExpansionError("it is nested too deeply") from None
    except ValueError as error:
        if isinstance(error, InvalidExpansionError):
            raise
    # A sentence before the object is common, and no object at all must not become one.
    start = text.find("{")
    if start < 0:
        raise InvalidExpansionError("it holds no JSON object")
    try:
        return _checked(repair_json(text[start:], return_objects=True))
    except RecursionError:
        raise InvalidExpansionError("it is nested too deeply") from None


def _checked(value: Any) -> dict[str, Any]:
    """Check the schema: both lists of queries must be there; what else it has may be missing."""
    value = storable(value)
    if not isinstance(value, dict):
        raise InvalidExpansionError("it is not a JSON object")
    for name in ("lexicalQueries", "vectorQueries", "subQuestions"):
        items = value.get(name, [] if name == "subQuestions" else None)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise InvalidExpansionError(f"{name} is not a list of texts")
    for name in ("hyde", "notes"):
        if not isinstance(value.get(name), str | None):
            raise InvalidExpansionError(f"{name} is not a text")
    return value


_TOKENS = {"expansion": 700, "hyde": 300}
_TOKENS_OF_QUESTION = 50
_CUT_OFF = {"length": "at {} tokens", "content_filter": "by the provider's filter of contents"}
Answer = dict[str, Any]


class Expander:
    """Makes variants of a query, and a passage that would answer it."""

    def __init__(self, providers: Providers, chat: Chat, cache: AnswerCache) -> None:
        self.cache = cache
        self._providers = providers
        self._chat = chat

    async def answer(self, task: Task, request: ExpansionRequest, deadline: CallDeadline) -> Answer:
        """Return the body of the answer to /v1/expand or /v1/hyde."""
        language = request.language or query_language(request.query)
        models = [request.model, *self._providers.policy.fallbacks.get(task, ())]
        ask = partial(self._answer_of, task, request, language)
        return await first_answer(models, deadline, ask)

    async def _answer_of(
        self,
        task: Task,
        request: ExpansionRequest,
        language: str,
        model: str,
        deadline: CallDeadline,
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
        return {"hyde": passage(read_query(request.query), text)}

    def _expansion(self, request: ExpansionRequest, text: str, model: str) -> Answer:
        try:
            said = read_expansion(text)
        except InvalidExpansionError as error:
            raise bad_answer(f"{model} gave an expansion that cannot be used: {error}") from None
        read = read_query(request.query)
        questions = sub_questions(read, said.get("subQuestions", []), request.sub_questions)
        if len(questions) == 1 and not request.history:  # the query itself, in other words
            questions = []
        return {
            "lexicalQueries": lexical_variants(read, said["lexicalQueries"]),
            "vectorQueries": vector_variants(read, said["vectorQueries"]),
            "hyde": passage(read, said.get("hyde")),
            "notes": notes(said.get("notes")),
            **({"subQuestions": questions} if request.sub_questions else {}),
        }

    async def _ask(
        self,
        task: Task,
        request: ExpansionRequest,
        asked: str,
        model: str,
        prompt: Prompt,
        deadline: CallDeadline,
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
        if task == "expansion" and choice["finish_reason"] in _CUT_OFF:
            why = _CUT_OFF[choice["finish_reason"]].format(tokens)
            raise bad_answer(f"{model} gave no whole expansion: it was cut off {why}")
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
