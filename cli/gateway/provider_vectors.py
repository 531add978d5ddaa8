"""Reading the vectors out of a provider's answer."""

from typing import Any

import numpy as np

from pgblend.cli.gateway.errors import GatewayError, bad_answer


def vectors_of(answer: Any, model: str, count: int, dimensions: int | None) -> list[bytes]:
    """Return one little-endian float32 vector a text, or raise what is wrong with the answer."""
    try:
        rows = sorted(answer.data, key=lambda row: int(row["index"]))
        vectors = [np.asarray(row["embedding"], dtype="<f4") for row in rows]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise bad_answer(f"{model} gave an answer without vectors") from None
    if len(vectors) != count:
        raise bad_answer(f"{model} gave {len(vectors)} vectors for {count} texts")
    if any(vector.ndim != 1 or not np.isfinite(vector).all() for vector in vectors):
        raise bad_answer(f"{model} gave a vector that is not a list of finite numbers")
    _check_dimensions(model, {vector.size for vector in vectors}, dimensions)
    return [vector.tobytes() for vector in vectors]


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
