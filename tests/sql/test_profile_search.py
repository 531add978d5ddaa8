"""A search by each literal profile gives the sums that its source's formulas give for its ranks."""

import json
from typing import Any

import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

QUERY = "deploy production with care"
WORDS = ("deploy", "production", "care", "wine", "sea", "ship", "sail")
WEIGHTS = {
    "gno_epic": {"lexical": 1, "vector": 1},
    "gno": {"lexical": 2, "vector": 2},
    "three_arm": {"lexical": 0.3, "vector": 0.5, "fuzzy": 0.2},
    "rrf_mmr": {"lexical": 1, "vector": 1},
}


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    add_space(db)
    texts = [" ".join(WORDS[(n * k) % 7] for k in range(1, 3 + n % 6)) for n in range(30)]
    add_documents(db, "c", [(str(n), "", f"{text} n{n}") for n, text in enumerate(texts)])
    embed_waiting(db)
    return db


def expected(profile: str, ranks: dict[str, int]) -> float:
    total = sum(WEIGHTS[profile][arm] / (60 + rank) for arm, rank in ranks.items())
    if profile == "gno_epic" and sum(rank <= 5 for rank in ranks.values()) == 2:
        total += 0.1
    if profile == "gno" and min(ranks.values()) <= 3:
        total += 0.05 if min(ranks.values()) == 1 else 0.02
    return total


@pytest.mark.parametrize("profile", WEIGHTS)
def test_sums_are_those_of_the_source(library: Database, profile: str) -> None:
    rows: list[tuple[dict[str, Any], float]] = library.rows(
        "SELECT arms, score FROM hybrid_search(%s, 30, profile => %s, query_embedding => %s)",
        QUERY,
        profile,
        vector_of(QUERY),
    )
    assert len(rows) >= 10
    for arms, _ in rows:
        ranks = {arm: said["rank"] for arm, said in arms.items() if arm != "fused"}
        assert arms["fused"]["score"] == pytest.approx(expected(profile, ranks), rel=1e-14)
    scores = [score for _, score in rows]
    assert all(0 <= score <= 1 for score in scores)
    sums = [arms["fused"]["score"] for arms, _ in rows]
    if profile != "rrf_mmr":
        assert sums == sorted(sums, reverse=True)
        assert scores == sorted(scores, reverse=True)
    assert [arms["fused"]["rank"] for arms, _ in rows][:1] == [1]


@pytest.mark.parametrize("profile", ["balanced", *WEIGHTS, "graph"])
@pytest.mark.parametrize("recency", [None, 30])
def test_score_falls_with_rank_but_where_mmr_chooses(
    library: Database, profile: str, recency: int | None
) -> None:
    def found(weight: float) -> dict[str, float]:
        options = {"mmr": {"lambda": weight}, "recency_half_life_days": recency}
        rows = library.rows(
            "SELECT source_key, score FROM hybrid_search("
            "%s, 30, profile => %s, query_embedding => %s, options => %s) ORDER BY rank",
            QUERY,
            profile,
            vector_of(QUERY),
            json.dumps(options),
        )
        return dict(rows)

    plain, diverse = found(1), found(0.2)
    assert list(plain.values()) == sorted(plain.values(), reverse=True)
    assert diverse == plain  # each row keeps the score that it had
    assert list(diverse.values()) != sorted(diverse.values(), reverse=True)
    told = library.value("SELECT col_description('blend.search_result'::regclass, 2)")
    assert "Where MMR chooses rows" in told


def test_a_list_alone_has_its_bonus_too(library: Database) -> None:
    arms = library.value(
        "SELECT arms FROM hybrid_search(%s, 1, profile => 'gno', query_embedding => %s,"
        """ options => '{"weights": {"vector": 0}}')""",
        QUERY,
        vector_of(QUERY),
    )
    assert arms["fused"] == {"rank": 1, "score": pytest.approx(2 / 61 + 0.05)}


def test_the_arms_of_words_are_one_way_of_searching(library: Database) -> None:
    """The bonus for both ways is not given for the words' and the fuzzy arm."""
    for arms, *_ in library.rows(
        "SELECT arms FROM hybrid_search(%s, 30, profile => 'gno_epic', query_embedding => %s,"
        """ options => '{"weights": {"fuzzy": 1}, "fuzzy": "on"}')""",
        QUERY,
        vector_of(QUERY),
    ):
        ranks = {arm: said["rank"] for arm, said in arms.items() if arm != "fused"}
        words = min((rank for arm, rank in ranks.items() if arm != "vector"), default=99)
        both = words <= 5 and ranks.get("vector", 99) <= 5
        total = sum(1 / (60 + rank) for rank in ranks.values()) + (0.1 if both else 0)
        assert arms["fused"]["score"] == pytest.approx(total, rel=1e-14)
