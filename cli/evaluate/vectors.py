"""Ready vectors of a judged set: a .npz file with ids and vectors of documents and queries."""

import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from pgblend.cli.errors import UserError

_ARRAYS = ("corpus_ids", "corpus", "query_ids", "queries")


@dataclass(frozen=True)
class Vectors:
    """Vectors by id; all have `dimensions` numbers, none is zero."""

    documents: dict[str, NDArray[np.float32]]
    queries: dict[str, NDArray[np.float32]]
    dimensions: int


def read_vectors(path: Path) -> Vectors:
    """Read corpus_ids, corpus, query_ids and queries; what does not fit together is an error."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, NpzFile):
            raise UserError(f"{path} is a single array", hint=f"expected a .npz file of {_ARRAYS}")
        with loaded as file:
            missing = [name for name in _ARRAYS if name not in file]
            if missing:
                raise UserError(f"{path} has no array {missing[0]!r}", hint=f"expected {_ARRAYS}")
            arrays = {name: file[name] for name in _ARRAYS}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    documents = _by_id(path, "corpus", arrays["corpus_ids"], arrays["corpus"])
    queries = _by_id(path, "queries", arrays["query_ids"], arrays["queries"])
    dimensions = {vector.size for vector in (*documents.values(), *queries.values())}
    if len(dimensions) != 1:
        raise UserError(f"{path}: vectors have {sorted(dimensions)} dimensions, expected one size")
    return Vectors(documents, queries, dimensions.pop())


def check_covers(vectors: Vectors, documents: set[str], queries: set[str], path: Path) -> None:
    """Refuse a file that lacks the vector of a document or a query."""
    for kind, wanted, found in (
        ("documents", documents, vectors.documents),
        ("queries", queries, vectors.queries),
    ):
        lacking = sorted(wanted - found.keys())
        if lacking:
            raise UserError(
                f"{path} has no vector for {len(lacking)} of {len(wanted)} {kind}, "
                f"such as {lacking[0]!r}",
                hint="nothing was imported; make the vectors anew, or leave --vectors out",
            )


def _by_id(
    path: Path, name: str, ids: NDArray[np.str_], matrix: NDArray[np.floating]
) -> dict[str, NDArray[np.float32]]:
    if matrix.ndim != 2 or ids.shape != (len(matrix),):
        raise UserError(f"{path}: {name} is {matrix.shape} for {ids.shape} ids")
    if matrix.dtype.kind not in "fiu":
        raise UserError(f"{path}: {name} holds {matrix.dtype}, expected real numbers")
    vectors = matrix.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1) | ~vectors.any(axis=1))
    if wrong.size:
        raise UserError(f"{path}: the vector of {str(ids[wrong[0]])!r} is zero or not finite")
    found = {str(key): vector for key, vector in zip(ids, vectors, strict=True)}
    if len(found) < len(ids):
        twice = next(key for key, count in Counter(map(str, ids)).items() if count > 1)
        raise UserError(f"{path}: {name} has two vectors of {twice!r}")
    return found
