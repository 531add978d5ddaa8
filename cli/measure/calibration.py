"""Relevance as a probability: judged searches, what is fitted to them, and stored."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.measure.arm_candidates import is_tuned_on
from pgblend.cli.measure.learn import PREFIX
from pgblend.plpy.search.relevance import (
    COVERAGES,
    NO_GATE,
    PRIORS,
    RANKED_BY,
    Curve,
    Gate,
    Signals,
    gains,
)

# A curve fitted on judged searches, and how well it holds on others.

SHOWN = 10  # rows of a search that a curve is fitted on
BINS = 10
RESAMPLES = 300
_SEED = 20091
_RIDGE = 1e-4  # keeps coefficients finite where all rows of a kind are relevant
Floats = NDArray[np.float64]


class JudgedSearch(NamedTuple):
    """A search of a judged query: its rows' scores, best first, and which are relevant."""

    key: str
    signals: Signals
    scores: Sequence[float]
    relevant: Sequence[bool]


class Bin(NamedTuple):
    """Rows of about one probability: its mean, and the share that is relevant."""

    predicted: float
    observed: float
    rows: int


def fit_curve(searches: Sequence[JudgedSearch], gate: Gate | None) -> Curve:
    """Return the curve of the greatest likelihood; `gate` is taken as it is."""
    rows = [row for one in searches for row in _features(one)]
    relevant = [float(row) for one in searches for row in one.relevant[:SHOWN]]
    passed = [
        gate.chance(one.signals) if gate else 1.0 for one in searches for _ in one.scores[:SHOWN]
    ]
    found = _likeliest(np.array(rows), np.array(relevant), np.array(passed))
    return Curve(*[*found, *(gate or NO_GATE)])


def fit_gate(answered: Sequence[Signals], others: Sequence[Signals]) -> Gate:
    """Return the gate that tells questions with an answer from others, both counting the same."""
    rows = [[1.0, one.cosine, one.words, one.known] for one in (*answered, *others)]
    kinds = np.array([1.0] * len(answered) + [0.0] * len(others))
    weights = np.where(kinds > 0, 0.5 / len(answered), 0.5 / len(others))
    return Gate(*_likeliest(np.array(rows), kinds, np.ones(len(rows)), weights))


def _likeliest(
    features: Floats, outcomes: Floats, passed: Floats, weights: Floats | None = None
) -> list[float]:
    """Return the weights of features, an intercept first, of which the others are not below 0."""
    shares = np.full(len(outcomes), 1 / len(outcomes)) if weights is None else weights

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        inner = 1 / (1 + np.exp(-np.clip(features @ coefficients, -500, 500)))
        chances = np.clip(passed * inner, 1e-9, 1 - 1e-9)
        unlikely = -shares @ (outcomes * np.log(chances) + (1 - outcomes) * np.log(1 - chances))
        slope = (chances - outcomes) / (chances * (1 - chances)) * passed * inner * (1 - inner)
        ridge = _RIDGE * np.array([0.0, *coefficients[1:]])
        return float(unlikely + ridge @ coefficients / 2), features.T @ (shares * slope) + ridge

    size = features.shape[1]
    bounds = [(None, None), *[(0.0, None)] * (size - 1)]
    found = minimize(loss, np.zeros(size), jac=True, bounds=bounds, method="L-BFGS-B")
    return [float(one) for one in found.x]


def _features(search: JudgedSearch) -> list[list[float]]:
    signals = search.signals
    return [
        [1.0, score, signals.lead(score), signals.cosine, signals.words]
        for score in search.scores[:SHOWN]
    ]


def reliability(curve: Curve, searches: Sequence[JudgedSearch]) -> list[Bin]:
    """Return the rows of searches in bins of as many, by rising probability."""
    chances, relevant, _ = _rows(curve, searches)
    return _bins(chances, relevant)


def _rows(curve: Curve, searches: Sequence[JudgedSearch]) -> tuple[Floats, Floats, list[int]]:
    chances = [curve.chances(one.scores[:SHOWN], one.signals) for one in searches]
    relevant = [one.relevant[:SHOWN] for one in searches]
    sizes = [len(each) for each in chances]
    return np.concatenate(chances), np.concatenate(relevant).astype(float), sizes


def _bins(chances: Floats, relevant: Floats) -> list[Bin]:
    order = np.argsort(chances, kind="stable")
    return [
        Bin(float(chances[part].mean()), float(relevant[part].mean()), len(part))
        for part in np.array_split(order, BINS)
        if len(part)
    ]


def _error(bins: Sequence[Bin]) -> float:
    total = sum(one.rows for one in bins)
    return sum(abs(one.predicted - one.observed) * one.rows for one in bins) / total


def calibration_error(curve: Curve, searches: Sequence[JudgedSearch]) -> tuple[float, float, float]:
    """Return the expected calibration error (Naeini 2015), and 95 % of it by bootstrap.

    Searches are resampled, whose rows depend on each other. Chance alone gives an error above 0.
    """
    chances, relevant, sizes = _rows(curve, searches)
    starts = np.cumsum([0, *sizes])
    random = np.random.default_rng(_SEED)
    errors = []
    for _ in range(RESAMPLES):
        drawn = random.integers(0, len(searches), len(searches))
        rows = np.concatenate([np.arange(starts[one], starts[one + 1]) for one in drawn])
        errors.append(_error(_bins(chances[rows], relevant[rows])))
    low, high = np.percentile(errors, [2.5, 97.5])
    return _error(_bins(chances, relevant)), float(low), float(high)


def coverage_thresholds(curve: Curve, searches: Sequence[JudgedSearch]) -> list[float | None]:
    """Return the gain at which lists end, by COVERAGES; None where no list is long enough.

    Split-conformal (Vovk 2005): there are n searches that the curve was not fitted on. A list must
    reach the first relevant row of all but (n + 1) · (1 - coverage).
    """
    reached = sorted(first_gain(curve, one) for one in searches)
    thresholds: list[float | None] = []
    for percent in COVERAGES:
        missed = int((len(reached) + 1) * (100 - percent) / 100 + 1e-9)
        gain = reached[missed - 1] if missed else 0.0
        thresholds.append(gain if gain > 0 else None)
    return thresholds


def first_gain(curve: Curve, search: JudgedSearch) -> float:
    """Return the gain of the first relevant row; 0 where there is none."""
    of_rows = gains(curve.chances(search.scores, search.signals))
    return next((gain for gain, one in zip(of_rows, search.relevant, strict=True) if one), 0.0)


# What searches find for the judged queries of a collection.

MOST_QUERIES = 1000  # more say little more
DEPTH = 50  # rows of a search, which a list of a coverage can have
# One query may be in several sets; a document is relevant where one says so.
_QUERIES = """
    SELECT pgblend._plain_query(q.query) AS query,
        (array_agg(q.embedding ORDER BY q.id) FILTER (
            WHERE s.embedding_model = %(model)s))[1] AS embedding,
        array_agg(DISTINCT j.source_key) FILTER (WHERE j.grade > 0) AS relevant
    FROM pgblend_data.judged_set AS s
    INNER JOIN pgblend_data.judged_query AS q ON q.set_id = s.id
    INNER JOIN pgblend_data.judgement AS j ON j.query_id = q.id
    WHERE s.collection_id = %(collection_id)s
        AND (%(feedback)s OR NOT starts_with(s.name, %(learned)s))
    GROUP BY pgblend._plain_query(q.query)
    HAVING bool_or(j.grade > 0)
    ORDER BY md5(pgblend._plain_query(q.query)) LIMIT %(most)s
"""
_SEARCH = """
    SELECT blend.search_explain(
        %(query)s, %(depth)s, ARRAY[%(collection)s], options => %(options)s::jsonb,
        query_embedding => %(embedding)s) AS trace
"""
_OPTIONS = {
    "rerank": "off",
    "expand": "off",
    "timeouts_ms": {"lexical": 60000, "total": 600000, "embed": 60000},
    **{rule: [] for rule in ("boosts", "decays", "pinned", "hidden")},  # relevance knows of none
}
_PURPOSE = "SELECT set_config('pgblend.purpose', 'evaluation', false)"


class Judged(NamedTuple):
    """The judged searches of a collection that could be made, and the settings they rank by."""

    searches: list[JudgedSearch]
    ranking: Mapping[str, Any]


def judged_queries(
    connection: Connection, collection_id: int, model: str, feedback: bool = False
) -> list[dict[str, Any]]:
    """Return the queries that have a relevant document: query, embedding and relevant keys.

    What was learned of clicks counts with `feedback`.
    """
    values = {"collection_id": collection_id, "model": model, "most": MOST_QUERIES}
    values |= {"feedback": feedback, "learned": PREFIX}
    return fetch_rows(connection, _QUERIES, values)


def search_judged(
    connection: Connection,
    collection: str,
    queries: list[dict[str, Any]],
    advance: Callable[[int], None],
) -> Judged:
    """Search the queries as users do; one whose search goes on without an arm is left out."""
    fetch_value(connection, _PURPOSE)
    searches, ranking = [], {}
    for query in queries:
        values = {"collection": collection, "depth": DEPTH, "options": json.dumps(_OPTIONS)}
        trace = fetch_value(connection, _SEARCH, values | query)
        advance(1)
        page = next(stage for stage in trace["stages"] if stage["name"] == "page")
        told = page["details"]["relevance"]
        if "cosine" not in told:
            continue
        rows = trace["results"]
        ranking = {name: trace["settings"][name]["value"] for name in RANKED_BY}
        searches.append(
            JudgedSearch(
                query["query"],
                Signals(**{name: told[name] for name in Signals._fields}),
                [row["score"] for row in rows],
                [row["source_key"] in query["relevant"] for row in rows],
            )
        )
    return Judged(searches, ranking)


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
    WHERE s.active AND c.parent_id IS NULL
        AND (
            pg_has_role('pgblend_admin', 'USAGE')
            OR EXISTS (
                SELECT FROM pgblend_data.collection_grant AS g
                WHERE g.collection_id = c.id AND g.privilege = 'write'))
        AND (%(names)s::text[] IS NULL OR c.name = ANY(
            ARRAY(SELECT normalize(n) FROM unnest(%(names)s::text[]) AS n)))
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
            hint="pgblend collection list\npgblend space list",
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
