"""One collection: what is fitted for it, and stored."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pgblend.cli.calibrate.fit import (
    Bin,
    calibration_error,
    coverage_thresholds,
    fit_curve,
    reliability,
)
from pgblend.cli.calibrate.judged import judged_queries, search_judged
from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.errors import UserError
from pgblend.cli.evaluate.held_back import is_tuned_on
from pgblend.plpy.search.relevance import COVERAGES, PRIORS

LEAST_QUERIES = 30
_LEAST_HALF = 10
_PAIRED = 300  # passages, each compared with all others
_TARGETS = """
    SELECT c.id AS collection_id, c.name AS collection, s.name AS space, s.model,
        coalesce(z.chunks, 0) AS passages,
        (
            SELECT count(*) FROM pgblend_data.judgement AS j WHERE j.collection_id = c.id
        ) AS judgements,
        k.passages AS passages_before, k.judgements AS judgements_before, k.model AS model_before,
        coalesce((k.figures ->> 'feedback')::boolean, false) AS feedback
    FROM pgblend_data.collection AS c
    CROSS JOIN pgblend_data.embedding_space AS s
    LEFT JOIN pgblend._collection_sizes(ARRAY(
        SELECT o.id FROM pgblend_data.collection AS o)) AS z ON z.collection_id = c.id
    LEFT JOIN pgblend_data.calibration AS k ON k.collection_id = c.id AND k.space = s.name
    WHERE s.active
        AND (
            pg_has_role('pgblend_admin', 'USAGE')
            OR EXISTS (
                SELECT FROM pgblend_data.collection_grant AS g
                WHERE g.collection_id = c.id AND g.privilege = 'write'))
        AND (%(names)s::text[] IS NULL OR c.name = ANY(%(names)s))
    ORDER BY c.name
"""
_SAMPLE = """
    SELECT e.embedding
    FROM blend.chunk_embeddings(ARRAY(
        SELECT k.chunk_id FROM pgblend._sampled_chunks(%(collection_id)s, %(most)s) AS k
        ORDER BY k.hash, k.chunk_id), %(space)s) AS e
"""
_STORE = """
    INSERT INTO pgblend_data.calibration AS k (
        collection_id, space, model, mean, deviation, coefficients, ranking, thresholds, figures,
        passages, judgements)
    VALUES (
        %(collection_id)s, %(space)s, %(model)s, %(mean)s, %(deviation)s, %(coefficients)s,
        %(ranking)s::jsonb, %(thresholds)s, %(figures)s::jsonb, %(passages)s, %(judgements)s)
    ON CONFLICT ON CONSTRAINT calibration_pkey DO UPDATE
    SET model = excluded.model, mean = excluded.mean, deviation = excluded.deviation,
        coefficients = excluded.coefficients, ranking = excluded.ranking,
        thresholds = excluded.thresholds, figures = excluded.figures,
        passages = excluded.passages, judgements = excluded.judgements,
        fitted_by = DEFAULT, fitted_at = DEFAULT
"""


@dataclass(frozen=True)
class Target:
    """A collection that the caller may write to, in the active space, and its last fit.

    `feedback`: what was learned of clicks counts (`eval learn`), as it did in the last fit.
    """

    collection_id: int
    collection: str
    space: str
    model: str
    passages: int
    judgements: int
    passages_before: int | None
    judgements_before: int | None
    model_before: str | None
    feedback: bool = False

    @property
    def is_stale(self) -> bool:
        """Tell whether passages or judgements are others by a fifth than when it was fitted."""
        if self.model_before != self.model:
            return self.passages > 0
        pairs = (
            (self.passages, self.passages_before),
            (self.judgements, self.judgements_before),
        )
        return any(abs(now - (before or 0)) > 0.2 * (before or 0) for now, before in pairs)


@dataclass(frozen=True)
class Calibration:
    """What was fitted for a collection.

    `error` is the expected calibration error on the queries held back, from `low` to `high` with
    95 % confidence; None where `missing` says what a curve needs. `attainable` is the largest
    coverage that a list can have.
    """

    collection: str
    space: str
    basis: str
    queries: int
    held_back: int
    error: float | None
    low: float | None
    high: float | None
    attainable: float | None
    missing: str | None
    feedback: bool
    reliability: list[Bin]


def as_json(result: Calibration) -> dict[str, Any]:
    """Return it as a JSON object, bins by name."""
    return asdict(result) | {"reliability": [one._asdict() for one in result.reliability]}


def targets(connection: Connection, names: list[str] | None) -> list[Target]:
    """Return the collections of these names, or all; those that the caller may write to."""
    found = [Target(**row) for row in fetch_rows(connection, _TARGETS, {"names": names})]
    lacking = set(names or ()) - {one.collection for one in found}
    if lacking:
        raise UserError(
            f"there is no collection {sorted(lacking)[0]!r} that you may write to, or no space",
            hint="pgblend collection list; pgblend space list",
        )
    return found


def calibrate(
    connection: Connection, target: Target, start_bar: Callable[[int], Callable[[int], None]]
) -> Calibration | None:
    """Fit and store what relevance means in a collection; None where it has too few vectors."""
    chance = _cosines_of_pairs(connection, target)
    if chance is None:
        return None
    queries = judged_queries(
        connection, target.collection_id, target.model, feedback=target.feedback
    )
    found: dict[str, Any] = {"coefficients": None, "ranking": None, "thresholds": None}
    if len(queries) >= LEAST_QUERIES:
        result, found = _fit(connection, target, queries, start_bar(len(queries)))
    else:
        needed = f"{LEAST_QUERIES} queries with a relevant document, {len(queries)} are judged"
        result = _without_curve(target, len(queries), needed)
    values = {name: getattr(target, name) for name in Target.__dataclass_fields__}
    values |= found | {"mean": chance[0], "deviation": chance[1]}
    connection.execute(_STORE, values | {"figures": json.dumps(as_json(result))})
    return result


def refresh(connection: Connection) -> list[Calibration]:
    """Fit anew what is stale; return what was fitted."""
    stale = [target for target in targets(connection, None) if target.is_stale]
    found = [calibrate(connection, target, lambda _: lambda _: None) for target in stale]
    return [one for one in found if one is not None]


def told_fit(result: Calibration) -> str:
    """Say in a line what relevance means in a collection now, and what a curve still needs."""
    if result.missing is None:
        return f"calibrated {result.collection}: relevance is a probability"
    return f"{result.collection}: relevance is {result.basis}, a curve needs {result.missing}"


def _without_curve(target: Target, queries: int, missing: str) -> Calibration:
    basis = "prior" if target.model in PRIORS else "p_value"
    nothing = (None, None, None, None)
    named = target.collection, target.space, basis
    return Calibration(*named, queries, 0, *nothing, missing, target.feedback, reliability=[])


def _fit(
    connection: Connection,
    target: Target,
    queries: list[dict[str, Any]],
    advance: Callable[[int], None],
) -> tuple[Calibration, dict[str, Any]]:
    """Fit on one half of the queries, and measure on the other, which ends lists as well."""
    searches, ranking = search_judged(connection, target.collection, queries, advance)
    halves: tuple[list[Any], list[Any]] = ([], [])
    for one in searches:
        halves[is_tuned_on(one.key, 0.5, 1)].append(one)
    held_back, fitted_on = halves
    if min(len(held_back), len(fitted_on)) < _LEAST_HALF:
        missing = f"{len(queries) - len(searches)} of {len(queries)} searches went without an arm"
        return _without_curve(target, len(queries), missing), {
            "coefficients": None, "ranking": None, "thresholds": None,
        }  # fmt: skip
    prior = PRIORS.get(target.model)
    curve = fit_curve(fitted_on, prior and prior.gate)
    thresholds = coverage_thresholds(curve, held_back)
    error, low, high = calibration_error(curve, held_back)
    attainable = max((c for c, t in zip(COVERAGES, thresholds, strict=True) if t), default=None)
    result = Calibration(
        target.collection,
        target.space,
        "calibrated",
        len(searches),
        len(held_back),
        *(error, low, high),
        attainable and attainable / 100,
        None,
        target.feedback,
        reliability(curve, held_back),
    )
    found = {
        "coefficients": list(curve),
        "ranking": json.dumps(ranking),
        "thresholds": thresholds,
    }
    return result, found


def _cosines_of_pairs(connection: Connection, target: Target) -> tuple[float, float] | None:
    """Return mean and deviation of cosines of random pairs; None where all are alike."""
    values = {"collection_id": target.collection_id, "space": target.space, "most": _PAIRED}
    rows = fetch_rows(connection, _SAMPLE, values)
    vectors = np.array([row["embedding"].to_numpy() for row in rows], dtype=np.float64)
    if len(vectors) < 2:
        return None
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosines = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    deviation = float(cosines.std())
    return (float(cosines.mean()), deviation) if deviation > 1e-9 else None
