"""Is the graph worth it? recall@10 with and without it, on a judged set with ready vectors.

    python tests/benchmarks/eval_graph.py --database-url URL --set twowiki [--links FILE.tsv]

The set is imported before (`pgblend eval import FOLDER --set twowiki --vectors FILE.npz`). Without
--links edges come from mentions: a passage that names another one's title links to it; no model is
asked. Weights of the graph's list are run against plain hybrid_search; a paired randomisation test
says whether the best differs from it by more than luck.
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

DEPTHS = (1, 2)
WEIGHTS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0)
_FOUND = """
    SELECT q.key, ARRAY(
        SELECT h.source_key FROM blend.hybrid_search(
            pgblend._plain_query(q.query), 10, collections => ARRAY[c.name],
            options => %(options)s::jsonb, query_embedding => q.embedding) AS h ORDER BY h.rank)
    FROM pgblend_data.judged_query AS q
    JOIN pgblend_data.judged_set AS s ON s.id = q.set_id AND s.name = %(name)s
    JOIN pgblend_data.collection AS c ON c.id = s.collection_id
    ORDER BY q.key
"""
_JUDGED = """
    SELECT j.query_key, array_agg(j.source_key) FROM blend.judgements AS j
    WHERE j.judged_set = %s AND j.grade > 0 GROUP BY 1 ORDER BY 1
"""


def recalls(connection: Any, name: str, options: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return recall@10 of each judged query."""
    asked = json.dumps({"mode": "fast"} | options)
    found = dict(connection.execute(_FOUND, {"name": name, "options": asked}).fetchall())
    judged = dict(connection.execute(_JUDGED, [name]).fetchall())
    return np.array([len(set(found[key]) & set(keys)) / len(keys) for key, keys in judged.items()])


def by_luck(difference: Sequence[float] | np.ndarray[Any, Any], rounds: int = 10_000) -> float:
    """Return the share of random signs with a mean at least as far from 0 (seed fixed)."""
    values = np.asarray(difference)
    signs = np.random.default_rng(0).choice([-1, 1], size=(rounds, len(values)))
    return float((abs((signs * values).mean(axis=1)) >= abs(values.mean())).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--set", dest="name", default="twowiki")
    parser.add_argument("--edge-types", nargs="*")
    arguments = parser.parse_args()
    with psycopg.connect(arguments.database_url, autocommit=True) as connection:
        if not arguments.edge_types:
            count = connection.execute("SELECT link_mentions(%s)", [arguments.name]).fetchone()
            print(f"edges by mentions: {count and count[0]}")
        plain = recalls(connection, arguments.name, {})
        print(f"{'plain hybrid_search':28} recall@10 {plain.mean():.3f}")
        for depth in DEPTHS:
            for weight in WEIGHTS:
                graph = {"weight": weight, "depth": depth, "edge_types": arguments.edge_types}
                with_graph = recalls(connection, arguments.name, {"graph": graph})
                gain = with_graph - plain
                print(
                    f"{f'graph depth {depth} weight {weight}':28} recall@10 "
                    f"{with_graph.mean():.3f} ({gain.mean():+.3f}, p {by_luck(gain):.4f})"
                )


if __name__ == "__main__":
    main()
