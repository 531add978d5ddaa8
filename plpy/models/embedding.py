"""The vectors that an embedding model gives."""

from collections.abc import Mapping, Sequence
from math import hypot
from typing import Any

from pgblend.plpy.models.outcome import IS_IT, is_numbered, mask_secrets, problem

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
