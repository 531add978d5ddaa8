"""What became of a request to the model gateway, its vectors too; keys in it are masked."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot, isinf
from typing import Any, NamedTuple

from pgblend.plpy.base.session import Database

IS_IT = "Is gateway_url the address of a model gateway?"


def problem(told: str, hint: str) -> dict[str, str]:
    """Return what stands in an answer's place, where there is none."""
    return {"problem": told, "hint": hint}


_TOO_LATE = problem(
    "the time of the whole search is over", "Raise the option timeouts_ms, key total."
)


class Outcome(NamedTuple):
    """A gateway's answer; or the problem that there is none, with a hint.

    `ms` are those from sending on.
    """

    ms: float
    answer: Any = None
    problem: str | None = None
    hint: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class ModelStages:
    """Begin calls, take their answers; leaving the `with` block ends what is still under way.

    The session keeps calls under way. The search must be over at `deadline` by `clock`, in seconds.
    """

    db: Database
    timeouts_ms: Mapping[str, float]
    deadline: float
    clock: Callable[[], float]
    under_way: dict[str, tuple[Mapping[str, Any], float]] = field(default_factory=dict)

    def __enter__(self) -> "ModelStages":
        return self

    def __exit__(self, *_: object) -> None:
        for task in list(self.under_way):
            self.leave(task)

    def begin(self, task: str, question: Mapping[str, Any], space: str | None = None) -> None:
        """Send a request for a task: embed, expand, hyde or rerank."""
        limit = self.timeouts_ms["expand" if task == "hyde" else task]
        left = int(min(limit, (self.deadline - self.clock()) * 1000))
        sent: Mapping[str, Any] = _TOO_LATE
        if left > 0:
            sent = self.db.send_model(task, json.dumps(question), space, left)
        self.under_way[task] = (sent, self.clock())

    def answer(self, task: str) -> Outcome:
        """Return what became of a call."""
        sent, began = self.under_way.pop(task)
        outcome = sent
        if "call" in sent:
            outcome = self.db.kept("calls").pop(sent["call"]).answer()
        ms = (self.clock() - began) * 1000
        return Outcome(ms, *map(outcome.get, ("answer", "problem", "hint")))

    def leave(self, task: str) -> None:
        """Do without the answer, where one was asked for."""
        sent, _ = self.under_way.pop(task, ({}, 0.0))
        if "call" in sent:
            self.db.kept("calls").pop(sent["call"]).abandon()


# Keys and tokens are taken out of messages.

_MASK = "***"
_SHORTEST = 6
_LONGEST_MESSAGE = 20_000
# Patterns are compiled where a message is masked: together they take a millisecond.
_USER_INFO = r"(?<=://)[^\s/@]+@"
# What the keys of known services begin with, tokens, and what follows the names of schemes.
_SHAPES = (
    r"\b(?:sk|pk|rk|hf|gsk|xai|pa|jina|nvapi|tgp|ghp|xox[abp])[-_][\w*.\-]{6,}",
    r"\b(?:AIza|AKIA|ASIA|eyJ|dapi)[\w.\-]{8,}",
    r"\b(?:Bearer|Basic)[ :]+[^\s\"',;]{6,}",
)
_SHAPE = f"(?i){'|'.join(_SHAPES)}"
# A value that is named a key: a letter and a digit are in it, where it is no password.
_IS = r"[\\\"']{0,2}\s{0,3}[:=]\s{0,3}[\\\"']{0,2}"
_VALUE = r"[^\s\"',;&]"
_KEY = r"(?:key|token|secret|credentials?|signature|authorization)\b(?: provided)?"
_PASSWORD = r"pass(?:word|wd|phrase)?"
_MIXED = rf"(?={_VALUE}{{0,200}}\d)(?={_VALUE}{{0,200}}[a-z]){_VALUE}{{6,}}"
_NAMED = rf"(?i)({_KEY}{_IS}){_MIXED}|({_PASSWORD}{_IS}){_VALUE}+"
# Long runs of letters and digits, as keys without a name of their own are; hashes look so too.
_RUN = r"\w{32,}"


def mask_secrets(message: str, known: Iterable[str | None] = ()) -> str:
    """Return the message with *** for what is `known` to be secret or looks like a key.

    Known ones shorter than six characters are left, as they would be found in any text. What
    follows the first 20,000 characters is cut off.
    """
    message = message[:_LONGEST_MESSAGE]
    for secret in known:
        if secret and len(secret) >= _SHORTEST:
            message = message.replace(secret, _MASK)
    message = re.sub(_USER_INFO, _MASK + "@", message)
    message = re.sub(_SHAPE, _MASK, message)
    message = re.sub(_NAMED, lambda match: (match[1] or match[2]) + _MASK, message)
    return re.sub(_RUN, lambda match: _MASK if is_mixed(match[0]) else match[0], message)


def is_mixed(run: str) -> bool:
    """Tell whether both letters and digits are in it."""
    return any(map(str.isdigit, run)) and any(map(str.isalpha, run))


MOST_LEVELS = 100


def gateway_answer(
    url: str,
    timeout_ms: int,
    exchange: Callable[[], tuple[int, str]],
    known: Iterable[str | None] = (),
) -> dict[str, Any]:
    """Run `exchange` (which gives status and text) and return {"answer"} or {"problem", "hint"}.

    Only what a gateway can do wrong becomes a problem: a cancel, above all, passes through. The
    problem shows no key that the gateway quotes, nor any of the `known` ones. The answer holds
    nothing that jsonb cannot: characters 0 are left out, lone surrogates replaced. One whose
    numbers are infinite, or that is nested too deeply to be read again, is none.
    """
    from http.client import HTTPException  # a search that asks no model goes without

    named = one_line(url)
    try:
        status, text = exchange()
    except TimeoutError:
        told = f"the model gateway at {named} gave no answer within {timeout_ms} ms"
        return problem(told, "Look at its log, or raise the setting timeouts_ms.")
    except OverflowError as error:
        told = f"the model gateway at {named} answered too much: {error}"
        return problem(told, "Is it a model gateway? The setting limits has answer_bytes.")
    except (OSError, ValueError, HTTPException) as error:
        told = f"the model gateway at {named} cannot be reached: {one_line(str(error), known)}"
        return problem(told, "Start it: pgblend up, or pgblend gateway.")
    try:
        answer = json.loads(text, parse_constant=refuse_constant, parse_float=finite_number)
        if is_deep(answer):
            answer = None
        elif re.search(r"\\u(0000|[dD][89a-fA-F])", text):
            answer = storable(answer)
    except (ValueError, RecursionError):
        answer = None
    if status != 200:
        told = f"the model gateway answered {status}: {error_message(answer, text, known)}"
        return problem(told, "pgblend doctor checks the gateway and its models.")
    if not isinstance(answer, dict):
        return problem(f"the answer from {named} is not JSON", IS_IT)
    return {"answer": answer}


def refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which Python reads but JSON does not have."""
    raise ValueError(f"{name} is no JSON")


def finite_number(text: str) -> float:
    """Refuse 1e999, which Python reads as Infinity."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text:.50} is out of range")
    return number


def is_deep(value: Any) -> bool:
    """Tell whether a JSON value has more than so many levels."""
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


def is_numbered(numbers: Collection[Any], count: int) -> bool:
    """Tell whether these are the numbers from 0 on, each once; `true` and "1" are no numbers."""
    return set(map(type, numbers)) <= {int} and set(numbers) == set(range(count))


def numbered_vectors(items: Sequence[Any]) -> dict[Any, Any]:
    """Return the vectors of an answer by their numbers; where none has one, as they stand."""
    if all("index" not in item or item["index"] is None for item in items):
        return {number: item["embedding"] for number, item in enumerate(items)}
    return {item["index"]: item["embedding"] for item in items}


def storable(value: Any) -> Any:
    """Return a JSON value with texts that jsonb can hold."""
    if isinstance(value, str):
        return whole_letters(value).replace("\0", "")
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable(item) for name, item in value.items()}
    return value


def whole_letters(text: str) -> str:
    """Return a text with U+FFFD for each half of a surrogate pair, which UTF-8 does not have."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def error_message(answer: Any, text: str, known: Iterable[str | None]) -> str:
    """Return the message of an error in OpenAI's shape, else the text."""
    error = answer.get("error") if isinstance(answer, dict) else None
    message = str(error["message"]) if isinstance(error, dict) and error.get("message") else text
    return one_line(message, known)


def one_line(message: str, known: Iterable[str | None] = ()) -> str:
    """Return the beginning of a message on one line, without keys and what text cannot hold."""
    message = whole_letters(message).replace("\0", "")
    return mask_secrets(" ".join(message.split()), known)[:500]


MOST = 3.4028234e38  # a float of 4 bytes holds no more
LEAST_LENGTH, MOST_LENGTH = 1e-3, 1e3  # beyond, such a float cannot hold their squares
HAS_CHANGED = "The model behind the name has changed: make a new embedding space for it."


def checked_vectors(
    answer: Mapping[str, Any], count: int, space: Mapping[str, Any] | None
) -> list[list[float]] | dict[str, str]:
    """Return a vector for each of `count` texts, or {"problem", "hint"}: what is wrong.

    `answer` is {"data": [{"index", "embedding"}, …]}, in any order. The vectors have the size of
    `space` (name, model, dimensions), without one all the same. The zero vector has no direction
    and is wrong; a very short or long vector is brought to length 1.
    """
    rows = answer.get("data")
    if not isinstance(rows, list | None):
        shown = mask_secrets(repr(rows))
        return problem(f"the gateway's answer has no vectors: data is {shown:.50}", IS_IT)
    vectors: list[Any] = [
        row.get("embedding") if isinstance(row, Mapping) else None for row in in_order(rows or [])
    ]
    if len(vectors) != count:
        return problem(f"the gateway gave {len(vectors)} vectors for {count} texts", IS_IT)
    numbers = [row["index"] for row in rows or [] if isinstance(row, Mapping) and "index" in row]
    if numbers and not is_numbered(numbers, count):
        return problem(f"the gateway's vectors are not numbered from 0 to {count - 1}", IS_IT)
    wrong = next((found for found in map(problem_of, vectors) if found), None)
    if wrong:
        return problem(f"the gateway's answer {wrong}", IS_IT)
    wrong = problem_of_sizes([len(vector) for vector in vectors], space)
    if wrong:
        return problem(f"the gateway gave {wrong}", HAS_CHANGED)
    return [of_usual_length(vector) for vector in vectors]


def in_order(rows: Sequence[Any]) -> list[Any]:
    """Return rows by their index; those without a whole number for one come last, as they are."""

    def index(row: Any) -> float:
        given = row.get("index") if isinstance(row, Mapping) else None
        return given if type(given) is int and abs(given) < 1e9 else 1e9

    return sorted(rows, key=index)


def problem_of(vector: Any) -> str | None:
    """Say what is wrong with what should be a list of numbers, not all 0."""
    if vector is None:
        return "lacks a vector"
    if not isinstance(vector, list) or not vector:
        return f"has no vectors: {mask_secrets(repr(vector)):.50} is none"
    if not set(map(type, vector)) <= {int, float}:
        item = next(item for item in vector if type(item) not in (int, float))
        return f"has no vectors: {mask_secrets(repr(item)):.50} is no number"
    largest = max(map(abs, vector))
    if not largest <= MOST:
        return "has no vectors: a number is too large"
    return None if largest else "has the zero vector, which has no direction"


def problem_of_sizes(sizes: Sequence[int], space: Mapping[str, Any] | None) -> str | None:
    """Say which size is not that of the space, or where there is none, of the first vector."""
    wanted = space["dimensions"] if space else None
    other = next((size for size in sizes if size != (wanted or sizes[0])), None)
    if other is None:
        return None
    if not space or not wanted:
        return f"{other} dimensions and {sizes[0]} in one answer"
    named = f'model "{space["model"]}", embedding space "{space["name"]}" holds {wanted}'
    return f"{other} dimensions for {named}"


def of_usual_length(vector: list[float]) -> list[float]:
    """Return a vector that can be compared: of length 1 where its own is extreme."""
    length = hypot(*vector)
    if LEAST_LENGTH <= length <= MOST_LENGTH:
        return vector
    largest = max(map(abs, vector))
    scaled = [item / largest for item in vector]  # the least of all floats has few digits
    length = hypot(*scaled)
    return [item / length for item in scaled]
