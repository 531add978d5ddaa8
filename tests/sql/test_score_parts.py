"""The parts of every row's score add up to it, in every mode and profile."""

import json
from typing import Any

import pytest

from support.database import Database
from support.model_library import QUERY, WEAK, fill, use_models
from support.model_provider import Behaviour, GatewayProcess, ModelProvider

MODES = ("fast", "default", "thorough")
PROFILES = ("balanced", "gno_epic", "gno", "three_arm", "rrf_mmr", "graph")
OPTIONS: list[dict[str, Any]] = [
    {"recency_half_life_days": 30},
    {"bonus": {"kind": "both_top", "depth": 2, "amount": 0.1}},
    {"bonus": {"kind": "tiers", "tiers": [{"max_rank": 1, "amount": 0.05}]}, "fusion": "rrf"},
    {"graph": {"weight": 0.7}},
    {"graph": {"weight": 0.7}, "fusion": "rrf", "recency_half_life_days": 9},
    {"graph": {"weight": 1, "combine": "sum"}, "recency_half_life_days": 9},
    {"fused_scale": "minmax"},
    {"fused_scale": "raw", "fusion": "rrf", "rerank_depth": 2},
    {"blend": {"kind": "position", "fused": 0.6, "rerank": 0.2, "position": 0.1}},
    {"mmr": {"lambda": 0.5}},
    {"level": "document"},
    {"weights": {"lexical": 0}},
    {"feedback": {"passages": 0}},
]


@pytest.fixture
def library(
    db: Database, session_gateway: GatewayProcess, model_provider: ModelProvider
) -> Database:
    fill(db)
    use_models(db, session_gateway, model_provider)
    db.rows("""SELECT add_links('c', 'deploy', '[{"target": "wine"}, {"target": "sea"}]')""")
    for days, key in ((9, "deploy"), (300, "rollout"), (20, "wine"), (-5, "sea")):
        db.rows(
            "UPDATE pgblend_data.document SET modified_at = now() - make_interval(days => %s)"
            " WHERE source_key = %s",
            days,
            key,
        )
    return db


def explain(
    db: Database, options: dict[str, Any], query: str = QUERY, profile: str | None = None
) -> dict[str, Any]:
    """The rows of a search, each with parts that add up to its score."""
    told: dict[str, Any] = db.value(
        "SELECT search_explain(%s, options => %s, profile => %s)",
        query,
        json.dumps(WEAK | options),
        profile,
    )
    assert told["degraded"] == []
    assert told["results"]
    for row in told["results"]:
        assert sum(row["parts"].values()) == pytest.approx(row["score"], abs=1e-12), row
        assert all(row["parts"].values())  # what gave nothing is no part
    return told


def parts(told: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {row["source_key"]: row["parts"] for row in told["results"]}


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_and_profile(library: Database, mode: str) -> None:
    for profile in PROFILES:
        told = explain(library, {"mode": mode}, profile=profile)
        assert told["meta"] == {
            "mode": "hybrid",
            "expanded": mode == "thorough",
            "reranked": mode != "fast",
            "vectorsUsed": True,
        }
        named = {name for of_row in parts(told).values() for name in of_row}
        assert ("rerank" in named) is (mode != "fast")
        assert "vector" in named


@pytest.mark.parametrize("mode", MODES)
def test_with_any_options(library: Database, mode: str) -> None:
    for options in OPTIONS:
        explain(library, {"mode": mode, **options})


def test_misspelt_words(library: Database) -> None:
    told = explain(library, {"mode": "fast"}, query="deplyo to prodution")
    assert any("fuzzy" in of_row for of_row in parts(told).values())


def test_what_feedback_gave_is_a_part(library: Database) -> None:
    """Without feedback the vector arm gives the same, and feedback nothing."""
    calm = {"mode": "fast", "normalization": {"method": "absolute"}, "weights": {"lexical": 1}}
    moved, own = (
        explain(library, {**calm, "feedback": {"passages": passages}}) for passages in (2, 0)
    )
    assert any(of_row.get("feedback") for of_row in parts(moved).values())
    for key, of_row in parts(own).items():
        assert "feedback" not in of_row
        assert parts(moved)[key]["vector"] == pytest.approx(of_row["vector"])


def test_age_takes_what_it_takes(library: Database) -> None:
    options = {"mode": "fast", "feedback": {"passages": 0}}
    fresh = parts(explain(library, options))
    aged = explain(library, {**options, "recency_half_life_days": 20})
    by_key = {row["source_key"]: row for row in aged["results"]}
    assert "recency" not in by_key["sea"]["parts"]  # its date is to come
    assert by_key["wine"]["parts"]["recency"] == pytest.approx(
        -sum(fresh["wine"].values()) / 2, rel=1e-4
    )
    assert by_key["rollout"]["score"] < 1e-3


def test_the_model_calls_are_seen_beside_the_arms(
    library: Database, model_provider: ModelProvider
) -> None:
    """A call is sent before the lexical arm runs and taken after it."""
    model_provider.behaviours["embed"] = Behaviour(delay_seconds=0.2)  # longer than the arm
    told = explain(library, {"mode": "fast"})
    stages = {stage["name"]: stage for stage in told["stages"]}
    embed, lexical = stages["embed"], stages["lexical"]
    sent = embed["start_ms"] + embed["ms"] - embed["details"]["model_ms"]
    assert sent < lexical["start_ms"] + lexical["ms"] <= embed["start_ms"] + 1e-6


@pytest.mark.parametrize(
    ("function", "mode"),
    [("lexical", "bm25"), ("vector", "vector"), ("fuzzy", "fuzzy")],
)
def test_one_arm_alone_is_named(library: Database, function: str, mode: str) -> None:
    meta = library.value(
        "SELECT trace -> 'meta' FROM pgblend._search(%s, 3, NULL, NULL, NULL, '{}', NULL,"
        " only_arm => %s, traced => 'page')",
        QUERY,
        function,
    )
    assert meta == {
        "mode": mode,
        "expanded": False,
        "reranked": False,
        "vectorsUsed": function == "vector",
    }


def test_without_vectors_the_words_are_all(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'k', 'deploy')")
    for query in ("deploy", ""):
        meta = db.value("SELECT search_explain(%s) -> 'meta'", query)
        assert (meta["mode"], meta["vectorsUsed"]) == ("bm25_only", False)
