"""Metrics of ranked documents, by ir-measures, and their means."""

from collections.abc import Mapping, Sequence
from typing import Any

import ir_measures
import numpy as np
from ir_measures import Qrel, ScoredDoc

from pgblend.cli.evaluate.metric_names import PASSAGE, RELEVANCE


def relevance_metrics(
    judgements: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
    names: Sequence[str] = RELEVANCE,
) -> dict[str, dict[str, float]]:
    """Return these metrics of each query: its judged documents and its ranking, best first.

    A query that found nothing has 0 in all. Ranks count, not scores, so that equal scores keep the
    order in which the search gave them.
    """
    measures = {ir_measures.parse_measure(name): name for name in names}
    qrels = [
        Qrel(query, document, grade)
        for query in rankings
        for document, grade in judgements[query].items()
    ]
    found = [
        ScoredDoc(query, document, -float(rank))
        for query, documents in rankings.items()
        for rank, document in enumerate(documents)
    ]
    metrics = {query: dict.fromkeys(names, 0.0) for query in rankings}
    if found:
        for metric in ir_measures.iter_calc(list(measures), qrels, found):
            metrics[metric.query_id][measures[metric.measure]] = float(metric.value)
    return metrics


def mean_metrics(
    per_query: Sequence[Mapping[str, float]], latencies_ms: Sequence[float]
) -> dict[str, Any]:
    """Return the means over the queries, and the percentiles of the time of a search.

    Of RELEVANCE, what the queries have.
    """
    means: dict[str, Any] = {
        name: float(np.mean([metrics[name] for metrics in per_query]))
        for name in (*RELEVANCE, *PASSAGE)
        if name in per_query[0]
    }
    p50, p95 = np.percentile(np.array(latencies_ms), [50, 95])
    return means | {"latency_p50_ms": float(p50), "latency_p95_ms": float(p95)}
