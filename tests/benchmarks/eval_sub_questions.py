"""Are sub-questions worth it? Pairs of judged questions asked as one, with and without them.

    python tests/benchmarks/eval_sub_questions.py --database-url URL --set scifact [--set npl …]

The sets are imported before (`pgblend eval import FOLDER --set NAME --vectors FILE.npz`), and the
database's gateway embeds. The parts of a made question are known, so no model splits it: what is
measured is the most that a model could gain. It says what real questions gain of no model.
"""

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psycopg

from pgblend.cli.measure.compare import compare_paired

SEED = 7
WEIGHTS = (0.5, 1, 2, 4, 8)
MEASURES = ("nDCG@10", "both parts @10")
PATIENT = {"embed": 60_000, "expand": 60_000, "lexical": 60_000, "total": 600_000}
_FOUND = """
    SELECT array_agg(h.source_key ORDER BY h.rank)
    FROM blend.hybrid_search(
        pgblend._plain_query(%(query)s), 10, %(collections)s, options => %(options)s::jsonb) AS h
"""
_JUDGED = """
    SELECT q.key, q.query, jsonb_object_agg(j.source_key, j.grade), c.name
    FROM blend.judgements AS j
    JOIN pgblend_data.judged_set AS s ON s.name = j.judged_set
    JOIN pgblend_data.collection AS c ON c.id = s.collection_id
    JOIN pgblend_data.judged_query AS q ON q.set_id = s.id AND q.key = j.query_key
    WHERE j.judged_set = %s AND j.grade > 0 GROUP BY q.id, c.name ORDER BY q.key
"""


def joined(first: str, second: str) -> str:
    """Return two questions as one."""
    second = second.strip()
    second = second if second[:2].isupper() else second[:1].lower() + second[1:]
    return f"{first.strip().rstrip('?.!; ')}, and {second}"


def measured(found: Sequence[str], parts: Sequence[Mapping[str, int]]) -> tuple[float, float]:
    """Return nDCG@10 of both parts' documents, and whether each part has one."""
    grades = {key: grade for part in parts for key, grade in part.items()}
    discounts = 1 / np.log2(np.arange(2, 12))
    documents = list(dict.fromkeys(found))[:10]
    gains = np.array([grades.get(key, 0) for key in documents])
    ideal = np.array(sorted(grades.values(), reverse=True)[:10])
    ndcg = gains @ discounts[: len(gains)] / (ideal @ discounts[: len(ideal)])
    return float(ndcg), float(all(set(documents) & part.keys() for part in parts))


def judged_pairs(connection: Any, name: str, most: int) -> list[tuple[Any, Any]]:
    """Return pairs of judged questions that no document answers both of."""
    rows = connection.execute(_JUDGED, [name]).fetchall()
    random.Random(SEED).shuffle(rows)
    pairs = zip(rows[::2], rows[1::2], strict=False)
    return [(one, other) for one, other in pairs if not one[2].keys() & other[2].keys()][:most]


def measure(connection: Any, name: str, most: int) -> np.ndarray[Any, Any]:
    """Return the measures of each pair: as it stands, then split at each weight."""
    rows = []
    for one, other in judged_pairs(connection, name, most):
        query, parts = joined(one[1], other[1]), [one[1], other[1]]
        split = [
            {"expansion": {"subQuestions": parts}, "sub_questions": {"weight": weight}}
            for weight in WEIGHTS
        ]
        row = []
        for more in [{}, *split]:
            options = json.dumps({"mode": "fast", "timeouts_ms": PATIENT} | more)
            values = {"query": query, "collections": [one[3]], "options": options}
            ((found,),) = connection.execute(_FOUND, values)
            row.append(measured(found or [], [one[2], other[2]]))
        rows.append(row)
    return np.array(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--set", dest="names", action="append", required=True)
    parser.add_argument("--pairs", type=int, default=60)
    arguments = parser.parse_args()
    with psycopg.connect(arguments.database_url, autocommit=True) as connection:
        for name in arguments.names:
            found = measure(connection, name, arguments.pairs)
            for place, measure_ in enumerate(MEASURES):
                plain = found[:, 0, place]
                for column, weight in enumerate(WEIGHTS, 1):
                    gain = compare_paired(plain, found[:, column, place])
                    print(
                        f"{name:12} {measure_:15} weight {weight:<4} {gain.mean_a:.3f} -> "
                        f"{gain.mean_b:.3f} ({gain.low:+.3f} to {gain.high:+.3f}, "
                        f"p {gain.p_value:.4f}, {gain.queries} pairs)",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
