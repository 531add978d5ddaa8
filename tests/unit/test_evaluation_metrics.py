"""Metrics agree with pytrec_eval, whatever the judgements and rankings."""

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from pgblend.cli.measure.eval_options import RELEVANCE
from pgblend.cli.measure.evaluation import mean_metrics, relevance_metrics

TREC = {
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
    "R@5": "recall_5",
    "R@10": "recall_10",
    "R@100": "recall_100",
    "AP": "map",
}
DOCUMENTS = st.sampled_from([f"d{number}" for number in range(30)])


@given(
    st.dictionaries(DOCUMENTS, st.integers(-1, 3), min_size=1).filter(
        lambda grades: max(grades.values()) > 0
    ),
    st.lists(DOCUMENTS, unique=True),
)
def test_a_query_has_what_pytrec_eval_gives(grades: dict[str, int], ranking: list[str]) -> None:
    found = relevance_metrics({"q": grades}, {"q": ranking})["q"]
    assert list(found) == list(RELEVANCE)
    if not ranking:
        assert set(found.values()) == {0.0}
        return
    run = {"q": {key: float(len(ranking) - place) for place, key in enumerate(ranking)}}
    evaluator = pytrec_eval.RelevanceEvaluator(
        {"q": grades}, {"ndcg_cut.5,10", "recall.5,10,100", "map"}
    )
    expected = evaluator.evaluate(run)["q"]
    for name, trec_name in TREC.items():
        assert found[name] == pytest.approx(expected[trec_name], abs=1e-6), name
    first = next((n for n, key in enumerate(ranking[:10], 1) if grades.get(key, 0) > 0), None)
    assert found["RR@10"] == pytest.approx(1 / first if first else 0)


def test_means_and_percentiles() -> None:
    one = dict.fromkeys((*RELEVANCE, "documents@10", "duplicates@10"), 1.0)
    none = dict.fromkeys(one, 0.0)
    means = mean_metrics([one, none, none, one], [1, 2, 3, 4])
    assert (means["nDCG@10"], means["duplicates@10"]) == (0.5, 0.5)
    assert (means["latency_p50_ms"], means["latency_p95_ms"]) == (2.5, pytest.approx(3.85))
