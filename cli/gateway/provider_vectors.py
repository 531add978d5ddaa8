"""Reading the vectors out of a provider's answer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.gateway.errors import GatewayError, bad_answer
from pgblend.plpy.models.answer import is_numbered, numbered_vectors

MOST_DIMENSIONS = 16_000  # of pgvector's columns


def vectors_of(answer: Any, model: str, count: int, dimensions: int | None) -> list[bytes]:
    """Return one little-endian float32 vector a text, or raise what is wrong with the answer."""
    try:
        rows = numbered_vectors(answer.data)
        found = len(answer.data)
    except (AttributeError, KeyError, TypeError):
        raise bad_answer(f"{model} gave an answer without vectors") from None
    if found != count:
        raise bad_answer(f"{model} gave {found} vectors for {count} texts")
    if not is_numbered(rows, count):
        raise bad_answer(f"{model} gave vectors that are not numbered from 0 to {count - 1}")
    vectors = [_vector(model, rows[index]) for index in range(count)]
    if not all(np.isfinite(vector).all() for vector in vectors):
        raise bad_answer(f"{model} gave a vector that is not a list of finite numbers")
    _check_dimensions(model, {vector.size for vector in vectors}, dimensions)
    return [vector.tobytes() for vector in vectors]


def _vector(model: str, numbers: object) -> NDArray[np.float32]:
    """Return a list of numbers; texts and truth values, which numpy takes for such, are none."""
    if not isinstance(numbers, list) or not set(map(type, numbers)) <= {int, float}:
        raise bad_answer(f"{model} gave a vector that is not a list of finite numbers")
    if len(numbers) > MOST_DIMENSIONS:
        raise bad_answer(f"{model} gave a vector of more than {MOST_DIMENSIONS} dimensions")
    try:
        return np.asarray(numbers, dtype="<f4")
    except OverflowError:  # a whole number of hundreds of digits
        raise bad_answer(f"{model} gave a vector that is not a list of finite numbers") from None


def _check_dimensions(model: str, sizes: set[int], wanted: int | None) -> None:
    if len(sizes) > 1 or 0 in sizes:
        raise bad_answer(f"{model} gave vectors of {sorted(sizes)} dimensions in one answer")
    if wanted is not None and sizes != {wanted}:
        raise GatewayError(
            502,
            "dimension_mismatch",
            f"{model} gave {sizes.pop()} dimensions where {wanted} were asked for",
            param="dimensions",
        )
