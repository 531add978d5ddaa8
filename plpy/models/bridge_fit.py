"""The matrix by which vectors of an older model answer queries of a newer one, and what that loses.

Passages that have a vector by each model are pairs. A ridge regression takes the older vector x to
the newer one: y ≈ M x + s. A query q of the newer model is as near to a passage as q · y ≈ (Mᵀ q) ·
x + q · s. So the matrix is applied to the query alone. The older vectors stay as they are, with
their index. Regression draws what it estimates towards the mean. Passages with an older vector
would stand behind those with a newer one. So M is stretched until scores of both kinds spread
alike. All are then cosines of the newer model.

Pairs that the matrix was not fitted on tell what is lost. Each is estimated by the matrix of the
others. Some of them stand for queries.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgblend.plpy.base.session import Database, ProgramError

LEAST_PAIRS = 200
FOUND = 10  # passages that are shown, for whoever looks at a page
NEAREST = 5  # of which these are to be among them
FOLDS = 4
QUERIES = 500
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)  # of the mean variance of a dimension

_PAIRS = """
    SELECT count(*) AS pairs,
        string_agg(vector_send(o.embedding::vector), ''::bytea ORDER BY o.chunk_id) AS older,
        string_agg(vector_send(n.embedding::vector), ''::bytea ORDER BY o.chunk_id) AS newer
    FROM (
        SELECT o.chunk_id, o.embedding FROM pgblend_data.{older} AS o
        WHERE EXISTS (SELECT FROM pgblend_data.{newer} AS n WHERE n.chunk_id = o.chunk_id)
        ORDER BY hashint8(o.chunk_id), o.chunk_id LIMIT $1) AS o
    INNER JOIN pgblend_data.{newer} AS n ON n.chunk_id = o.chunk_id"""

Vectors = NDArray[np.float32]
Matrix = NDArray[np.float64]


class Bridge(NamedTuple):
    """A matrix as a row for each dimension of the older model, and what is added to scores.

    `kept` is the share of held-out queries' five nearest passages that the matrix finds among ten.
    `recall` is that of the ten nearest.
    """

    pairs: int
    weights: Sequence[str]
    shift: str
    kept: float
    recall: float


def fit_bridge(db: Database, older: str, newer: str, most: int) -> Bridge:
    """Fit on at most so many of the pairs in two tables of vectors, those of the least hashes."""
    statement = _PAIRS.format(older=older, newer=newer)  # spaces' names need no quotes
    row = db.run(statement, ["integer"], most)[0]
    if row["pairs"] < LEAST_PAIRS:
        raise ProgramError(
            f"{row['pairs']} passages have a vector in both spaces: expected {LEAST_PAIRS}",
            "pgblend space switch NAME --now embeds as many as it takes.",
            "55000",
        )
    return fitted(
        read_vectors(row["older"], row["pairs"]), read_vectors(row["newer"], row["pairs"])
    )


def read_vectors(sent: bytes, count: int) -> Vectors:
    """Return vectors, as pgvector sends them, as rows of length 1; zeros stay."""
    rows = np.frombuffer(sent, np.uint8).reshape(count, -1)[:, 4:]
    found = np.ascontiguousarray(rows).view(">f4").astype(np.float32)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found / np.where(lengths > 0, lengths, 1), np.float32)


class _Sums(NamedTuple):
    """What a regression needs to know of pairs; sums of two parts are those of both."""

    pairs: int
    older: Matrix
    newer: Matrix
    squares: Matrix
    products: Matrix

    @classmethod
    def of(cls, older: Vectors, newer: Vectors) -> "_Sums":
        sums = older.sum(0), newer.sum(0), older.T @ older, older.T @ newer
        return cls(len(older), *(one.astype(np.float64) for one in sums))

    def with_part(self, part: "_Sums", sign: int = 1) -> "_Sums":
        """Return the sums with those of a part more, or with -1 without them."""
        return _Sums(
            self.pairs + sign * part.pairs,
            self.older + sign * part.older,
            self.newer + sign * part.newer,
            self.squares + sign * part.squares,
            self.products + sign * part.products,
        )


class _Regression(NamedTuple):
    """A ridge regression of one penalty, shrunk to nothing or to a multiple of identity.

    Its matrix is squares⁻¹ (products + pull · identity); sums are about the means.
    """

    squares: Matrix
    products: Matrix
    pull: float
    older_mean: Matrix
    newer_mean: Matrix

    @classmethod
    def of(cls, sums: _Sums, penalty: float) -> "_Regression":
        older, newer = sums.older / sums.pairs, sums.newer / sums.pairs
        squares = sums.squares - sums.pairs * np.outer(older, older)
        products = sums.products - sums.pairs * np.outer(older, newer)
        variance = max(float(np.trace(squares)), 1e-9)
        added = penalty * variance / len(older)
        squares[np.diag_indices_from(squares)] += added
        pull = added * max(float(np.trace(products)) / variance, 0.0)
        return cls(squares, products, pull, older, newer)

    def estimates(self, older: Vectors) -> list[Vectors]:
        """Return estimates of newer vectors, shrunk to nothing and, where it can be, to identity.

        Solving for fewer vectors than dimensions takes less time than making the matrix.
        """
        solved = np.linalg.solve(self.squares, (older - self.older_mean).T).T
        plain = solved @ self.products + self.newer_mean
        found = [plain, plain + self.pull * solved] if self.is_square else [plain]
        return [one.astype(np.float32) for one in found]

    def folded(self, to_identity: bool, stretch: float) -> tuple[Matrix, Matrix]:
        """Return the matrix and what is added to its product, stretched about the mean."""
        wanted = self.products.copy()
        if to_identity:
            wanted[np.diag_indices_from(wanted)] += self.pull
        matrix = np.asarray(np.linalg.solve(self.squares, wanted), np.float64) * stretch
        return matrix, self.newer_mean - self.older_mean @ matrix

    @property
    def is_square(self) -> bool:
        """Return whether both models have as many dimensions."""
        return len(self.older_mean) == len(self.newer_mean)


def fitted(older: Vectors, newer: Vectors) -> Bridge:
    """Return the matrix that loses least on pairs that it was not fitted on, and what it loses."""
    folds = np.arange(len(older)) % FOLDS  # the order of pairs is one of hashes
    parts = [_Sums.of(older[folds == fold], newer[folds == fold]) for fold in range(FOLDS)]
    whole = reduce(_Sums.with_part, parts)
    first, rest = folds == 0, whole.with_part(parts[0], -1)
    tried = [
        (shares_kept(newer[first], estimated)[1], penalty, to_identity)
        for penalty in PENALTIES
        for to_identity, estimated in enumerate(
            _Regression.of(rest, penalty).estimates(older[first])
        )
    ]
    _, penalty, to_identity = max(tried)
    estimated = np.empty_like(newer)
    for fold, part in enumerate(parts):
        own, others = folds == fold, whole.with_part(part, -1)
        estimated[own] = _Regression.of(others, penalty).estimates(older[own])[to_identity]
    kept, recall = shares_kept(newer, estimated)
    stretch = _stretch(newer, estimated)
    matrix, shift = _Regression.of(whole, penalty).folded(bool(to_identity), stretch)
    return Bridge(len(older), list(map(_text, matrix)), _text(shift), kept, recall)


def shares_kept(newer: Vectors, estimated: Vectors) -> tuple[float, float]:
    """Return the shares of the five and of the ten nearest that are among ten by estimates."""
    queries = newer[:QUERIES]
    places = np.arange(len(queries))
    found = []
    for passages in (newer, estimated):
        scores = queries @ passages.T
        scores[places, places] = -np.inf  # a passage does not look for itself
        found.append(np.argsort(-scores, axis=1, kind="stable")[:, :FOUND])
    whole, own = found
    is_kept = (whole[:, :, None] == own[:, None, :]).any(axis=2)
    return float(is_kept[:, :NEAREST].mean()), float(is_kept.mean())


def _stretch(newer: Vectors, estimated: Vectors) -> float:
    """Return by how much the scores of one query are further apart than their estimates."""
    queries = newer[:QUERIES]
    spreads = [(queries @ passages.T).std(axis=1) for passages in (newer, estimated)]
    return float(np.median(spreads[0] / np.maximum(spreads[1], 1e-9)))


def _text(vector: Matrix) -> str:
    return f"[{','.join(map('{:.8g}'.format, vector.tolist()))}]"
