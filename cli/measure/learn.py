"""What clicks and judgements of a collection teach, as a judged set."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from pgblend.cli.base.database import Connection, collect_warnings, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError

# What clicks say of documents, once the place where each was shown is allowed for.
#
# A row is opened where it was looked at and seems good (the position-based model: Craswell, Zoeter,
# Taylor and Ramsey 2008). How often each rank is looked at, its propensity, is 1 / rank until the
# log says more (Joachims, Swaminathan and Schnabel 2017).

RANKS = 10  # the log has so many rows of a search
LEAST_CLICKS = 3
LEAST_LOOKS = 10.0
DOUBT = 0.05
_PRIOR_ROWS = 50  # so many rows at a rank count as much as what is assumed of it
_BASE_LOOKS = 2.0  # a document is taken for an average one until it was looked at more often
_STEPS = 500

Floats = NDArray[np.float64]


class Shown(NamedTuple):
    """How often a document was shown at a rank for a query, and how often it was opened there."""

    query: str
    source_key: str
    rank: int
    shown: int
    clicked: int


class Propensity(NamedTuple):
    """How often a rank is looked at, the first always; `rows` that say so, 0: assumed."""

    rank: int
    propensity: float
    rows: int


@dataclass(frozen=True)
class Verdict:
    """What clicks say of a document for a query.

    `looks` are how often it was looked at, as far as one can tell. `grade` is 1 where it is opened
    more often than the average row that is looked at. It is 0 where less often, None without a
    verdict.
    """

    query: str
    source_key: str
    clicks: int
    looks: float
    grade: int | None


def propensities(rows: Sequence[Shown]) -> list[Propensity]:
    """Return how often each rank is looked at, the first one being 1.

    Only documents that one query showed at several ranks tell (Agarwal et al. 2019). It is
    expectation maximisation over these (Wang et al. 2018), where what is assumed counts as 50 rows.
    """
    ranks: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        ranks.setdefault((row.query, row.source_key), set()).add(row.rank)
    moved = {pair: place for place, pair in enumerate(p for p in ranks if len(ranks[p]) > 1)}
    shown, clicked = np.zeros((2, len(moved), RANKS))
    for row in rows:
        place = moved.get((row.query, row.source_key))
        if place is not None:
            shown[place, row.rank - 1] += row.shown
            clicked[place, row.rank - 1] += row.clicked
    looked = _looked_at(shown, clicked)
    counts = shown.sum(axis=0)
    return [
        Propensity(rank, float(chance), int(count))
        for rank, chance, count in zip(range(1, RANKS + 1), looked, counts, strict=True)
    ]


def _looked_at(shown: Floats, clicked: Floats) -> Floats:
    """Return the most likely propensities by rank; rows are pairs, columns ranks."""
    assumed = 1 / np.arange(1, RANKS + 1)
    looked, good = assumed.copy(), np.full(len(shown), 0.5)
    left = shown - clicked
    for _ in range(_STEPS):
        before = looked
        both = looked * good[:, None]
        nothing = np.maximum(1 - both, 1e-9)
        looks = clicked + left * (looked - both) / nothing
        likes = clicked + left * (good[:, None] - both) / nothing
        looked = (looks.sum(axis=0) + _PRIOR_ROWS * assumed) / (shown.sum(axis=0) + _PRIOR_ROWS)
        looked[0] = 1.0
        good = (likes.sum(axis=1) + 1) / (shown.sum(axis=1) + 2)
        if np.abs(looked - before).max() < 1e-6:
            break
    return looked


def verdicts(rows: Sequence[Shown], looked: Sequence[Propensity]) -> list[Verdict]:
    """Return what is to be said of each document for each query.

    Clicks over looks (inverse propensity by rank) is compared with that of all rows. A verdict
    needs 10 looks, and a 95 % credible bound beyond the average. A good one needs 3 clicks too.
    """
    of_pairs: dict[tuple[str, str], tuple[int, float]] = {}
    for row in rows:
        clicks, looks = of_pairs.get((row.query, row.source_key), (0, 0.0))
        looks += row.shown * looked[row.rank - 1].propensity
        of_pairs[row.query, row.source_key] = clicks + row.clicked, looks
    total = sum(looks for _, looks in of_pairs.values())
    average = min(sum(clicks for clicks, _ in of_pairs.values()) / total, 1.0) if total else 0.0
    return [
        Verdict(*pair, clicks, looks, _grade(clicks, looks, average))
        for pair, (clicks, looks) in of_pairs.items()
    ]


def _grade(clicks: int, looks: float, average: float) -> int | None:
    if looks < LEAST_LOOKS or not 0 < average < 1:
        return None
    liked = clicks + _BASE_LOOKS * average
    left = max(looks - clicks, 0.0) + _BASE_LOOKS * (1 - average)
    if clicks >= LEAST_CLICKS and beta.ppf(DOUBT, liked, left) > average:
        return 1
    return 0 if beta.ppf(1 - DOUBT, liked, left) < average else None


PREFIX = "learned: "
_FEEDBACK = "feedback: "
_DESCRIPTION = "What people opened (pgblend eval learn), and what they said of passages."
# Searches of roles that tell what is opened: where nobody tells, that nothing is opened means
# nothing. A digest in place of a query cannot be searched.
_SHOWN = """
    WITH logged AS (
        SELECT l.search_id, l.role_name, l.results,
            lower(btrim(regexp_replace(l.query, '\\s+', ' ', 'g'))) AS query
        FROM pgblend_data.search_log AS l
        WHERE l.purpose = 'search' AND %(collection)s::text = ANY(l.collections)
            AND l.query !~ '^([0-9a-f]{64}|\\s*)$'
            AND l.role_name IN (SELECT c.role_name FROM pgblend_data.click AS c)
    ), shown AS (
        SELECT l.query, l.search_id, l.role_name, (r.result ->> 'rank')::integer AS rank,
            (r.result ->> 'document_id')::bigint AS document_id,
            (r.result ->> 'chunk_id')::bigint AS chunk_id
        FROM logged AS l
        CROSS JOIN LATERAL jsonb_array_elements(l.results) AS r (result)
        WHERE (r.result ->> 'rank')::integer BETWEEN 1 AND %(ranks)s
    )
    SELECT s.query, d.source_key, s.rank, count(*) AS shown, count(c.chunk_id) AS clicked
    FROM shown AS s
    INNER JOIN pgblend._known_documents(
        %(id)s, ARRAY(SELECT DISTINCT o.document_id FROM shown AS o), '{}') AS d
        ON s.document_id = d.document_id
    LEFT JOIN pgblend_data.click AS c
        ON c.search_id = s.search_id AND c.chunk_id = s.chunk_id AND c.role_name = s.role_name
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
"""
_JUDGED = """
    SELECT j.query, j.source_key, j.grade
    FROM blend.judgements AS j
    INNER JOIN pgblend._known_documents(%(id)s, '{}', ARRAY(
        SELECT DISTINCT o.source_key FROM blend.judgements AS o
        WHERE o.judged_set = %(set)s AND o.collection = normalize(%(collection)s::text)
    )) AS d ON j.source_key = d.source_key
    WHERE j.judged_set = %(set)s AND j.collection = normalize(%(collection)s::text)
"""
_COLLECTION = (
    "SELECT c.id FROM blend.collections AS c WHERE c.name = normalize(%(collection)s::text)"
)
_HAS_SET = """
    SELECT EXISTS (
        SELECT FROM blend.judged_sets AS s
        WHERE s.name = %(set)s AND s.collection = normalize(%(collection)s::text))
"""
_ADD = "SELECT blend.add_judged_set(%(set)s, %(collection)s, %(description)s)"
_RECORD = """
    SELECT count(blend.record_judgement(
        %(set)s, j.query, j.source_key, j.grade, %(collection)s))
    FROM jsonb_to_recordset(%(judgements)s::jsonb) AS j (
        query text, source_key text, grade integer)
"""


@dataclass(frozen=True)
class Learned:
    """What a collection's judged set `set` was made of.

    `documents` are pairs of a query and a document that was shown; `judged` those that people
    judged themselves, which counts in place of clicks.
    """

    collection: str
    set: str
    clicks: int
    documents: int
    relevant: int
    not_relevant: int
    no_verdict: int
    judged: int
    queries: int
    propensities: list[Propensity]


def as_json(learned: Learned) -> dict[str, Any]:
    """Return it as a JSON object, ranks by name."""
    return asdict(learned) | {"propensities": [one._asdict() for one in learned.propensities]}


def learn(connection: Connection, collection: str) -> Learned:
    """Write the judged set of a collection anew, in one transaction; admins may.

    Where people judged and where clicks have a verdict, it has a grade; nothing else.
    """
    number = fetch_value(connection, _COLLECTION, {"collection": collection})
    if number is None:
        raise UserError(
            f"there is no collection {collection!r} that you may read",
            hint="run: pgblend collection list",
        )
    warnings = collect_warnings(connection)
    with connection.transaction():
        given = {"collection": collection, "id": number, "ranks": RANKS}
        found = fetch_rows(connection, _SHOWN, given)
        rows = [Shown(**row) for row in found]
        looked = propensities(rows)
        said = verdicts(rows, looked)
        of_clicks = {(one.query, one.source_key): one.grade for one in said}
        judged = _grades(connection, f"{_FEEDBACK}{collection}"[:200], collection, number)
        if warnings:
            raise UserError(
                f"not all of collection {collection!r} is known: {warnings[0]}",
                hint="nothing was learned: run it again once all shards answer",
            )
        grades = {pair: grade for pair, grade in of_clicks.items() if grade is not None} | judged
        if not any(grade > 0 for grade in grades.values()):
            raise _nothing_known(collection, rows, len(said))
        name = f"{PREFIX}{collection}"[:200]
        _store(connection, name, collection, number, grades)
    told = Counter(of_clicks.values())
    return Learned(
        collection,
        name,
        sum(row.clicked for row in rows),
        len(said),
        told[1],
        told[0],
        told[None],
        len(judged),
        len({query for (query, _), grade in grades.items() if grade > 0}),
        looked,
    )


def _nothing_known(collection: str, rows: Sequence[Shown], documents: int) -> UserError:
    """Return what says that no document is known to be relevant, and what is missing."""
    clicks = sum(row.clicked for row in rows)
    message = (
        f"nothing is known of collection {collection!r}: {clicks} clicks, and on none "
        f"of {documents} documents that queries showed a verdict that it is relevant"
    )
    if not clicks:
        hint = "tell what is opened (blend.click, POST /v1/click), and log searches"
    else:
        hint = (
            f"a document needs {LEAST_LOOKS:g} looks and {LEAST_CLICKS} clicks for one query, and "
            "more than the average row: wait for more searches, or judge some (blend.feedback)"
        )
    return UserError(message, hint=hint)


def _grades(
    connection: Connection, name: str, collection: str, number: int
) -> dict[tuple[str, str], int]:
    rows = fetch_rows(connection, _JUDGED, {"set": name, "collection": collection, "id": number})
    return {(" ".join(row["query"].lower().split()), row["source_key"]): row["grade"]
            for row in rows}  # fmt: skip


def _store(
    connection: Connection,
    name: str,
    collection: str,
    number: int,
    grades: dict[tuple[str, str], int],
) -> None:
    """Write what is new, and take back what is known no more."""
    values = {"set": name, "collection": collection, "description": _DESCRIPTION}
    if not fetch_value(connection, _HAS_SET, values):
        fetch_value(connection, _ADD, values)
    before = _grades(connection, name, collection, number)
    changed = [
        {"query": query, "source_key": key, "grade": grades.get((query, key))}
        for query, key in sorted(before.keys() | grades.keys())
        if before.get((query, key)) != grades.get((query, key))
    ]
    fetch_value(connection, _RECORD, values | {"judgements": json.dumps(changed)})
