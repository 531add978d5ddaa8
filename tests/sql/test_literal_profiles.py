"""Each literal profile against the worked examples and constants of its source.

Rankings come from the settings in force and the public stages alone.
"""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pgblend.plpy.search.plan import arm_depth
from support.database import Database, add_documents, add_space, embed_waiting, vector_of

LIBRARY = [
    ("france", "", "The production of wine in France."),
    ("italy", "", "Wine production of Italy is the largest in the world."),
    ("sea", "", "Ships sail the sea when the wind is fair."),
]
LISTS = ("lexical", "vector", "fuzzy", "lexical_variant", "vector_variant", "hyde")


def settings_of(db: Database, profile: str, options: Any = None) -> Any:
    return db.value("SELECT pgblend._search_settings(%s, %s, '{}')", Jsonb(options or {}), profile)


def fused(db: Database, profile: str, **ranks: int) -> float:
    """The raw fused sum, bonus included; the bonus sees the best rank of words and of vectors."""
    settings = settings_of(db, profile)
    weights = [float(settings["weights"][name]) for name in LISTS]
    words = min((r for name, r in ranks.items() if name.startswith("lexical")), default=None)
    vectors = min((r for name, r in ranks.items() if not name.startswith("lexical")), default=None)
    value = db.value(
        "SELECT rrf(%s::int[], %s::float8[], %s) + rank_bonus(%s::int[], %s)",
        [ranks.get(name) for name in LISTS],
        weights,
        settings["rrf_k"],
        [words, vectors],
        Jsonb(settings["bonus"]),
    )
    return float(value)


def blended(db: Database, profile: str, score: float, rerank: float, rank: int, n: int) -> float:
    blend = Jsonb(settings_of(db, profile)["blend"])
    value = db.value("SELECT blend_scores(%s, %s, %s, %s, %s)", score, rerank, rank, blend, n)
    return float(value)


def depth(db: Database, profile: str, limit: int, reranked: bool, variant: bool) -> int:
    settings = settings_of(db, profile)
    return arm_depth(settings["over_fetch"], settings["candidate_depth"], limit, reranked, variant)


def test_the_profiles_are_there_and_right(db: Database) -> None:
    names = ["balanced", "code", "gno", "gno_epic", "graph", "rrf_mmr", "three_arm"]
    assert db.column("SELECT name FROM profiles WHERE built_in ORDER BY name") == names
    for settings in db.column("SELECT settings FROM profiles"):
        db.rows("SELECT pgblend._check_settings(%s, ARRAY['search'], 'profile')", Jsonb(settings))


@pytest.mark.parametrize("profile", ["gno_epic", "gno", "three_arm", "rrf_mmr"])
def test_a_literal_profile_does_not_follow_the_database(db: Database, profile: str) -> None:
    """What its source fixes holds whatever was set for the database."""
    before = settings_of(db, profile)
    for name, value in {
        "rrf_k": 1,
        "fusion": "convex",
        "fuzzy": "auto",
        "fused_scale": "attainable",
        "weights": dict.fromkeys(LISTS, 9),
        "bonus": {"kind": "both_top", "depth": 9, "amount": 9},
        "mmr": {"lambda": 0.1, "pool": 9},
        "dedup": "near",
        "lexical_method": "bm25" if profile == "three_arm" else "ts_rank_cd",
    }.items():
        db.rows("SELECT set_setting(%s, %s)", name, Jsonb(value))
    assert settings_of(db, profile) == before


# S1, "Why RRF works": rank 1 in BM25 and 3 in vectors, weights 1 and k 60.
def test_the_sum_of_two_ranks(db: Database) -> None:
    assert round(1 / 61, 4) == 0.0164
    assert round(1 / 63, 4) == 0.0159
    assert round(fused(db, "rrf_mmr", lexical=1, vector=3), 4) == 0.0323
    assert round(fused(db, "rrf_mmr", lexical=1), 4) == 0.0164


@pytest.mark.parametrize(
    ("profile", "ranks", "expected"),
    [
        # S0: 1 / .5 / .7, + .1 where both arms have it in their first five
        ("gno_epic", {"lexical": 1}, 1 / 61),
        ("gno_epic", {"lexical": 1, "vector": 1}, 2 / 61 + 0.1),
        ("gno_epic", {"lexical": 5, "vector": 5}, 2 / 65 + 0.1),
        ("gno_epic", {"lexical": 5, "vector": 6}, 1 / 65 + 1 / 66),
        ("gno_epic", {"lexical": 9, "lexical_variant": 5, "hyde": 4},
         1 / 69 + 0.5 / 65 + 0.7 / 64 + 0.1),
        ("gno_epic", {"vector": 8, "vector_variant": 9, "hyde": 9}, 1 / 68 + 0.5 / 69 + 0.7 / 69),
        ("gno_epic", {"lexical": 1, "lexical_variant": 1}, 1.5 / 61),  # one way of searching
        # S1: 2 / 1 / 1.4, + .05 for a first place, .02 for a second or third, once
        ("gno", {"lexical": 1}, 2 / 61 + 0.05),
        ("gno", {"lexical": 1, "vector": 1}, 4 / 61 + 0.05),
        ("gno", {"lexical": 2, "vector": 9}, 2 / 62 + 2 / 69 + 0.02),
        ("gno", {"vector": 3}, 2 / 63 + 0.02),
        ("gno", {"vector": 4}, 2 / 64),
        ("gno", {"lexical_variant": 4, "vector_variant": 5, "hyde": 6}, 1 / 64 + 1 / 65 + 1.4 / 66),
        # S2: .5 / .3 / .2, nothing else
        ("three_arm", {"vector": 1}, 0.5 / 61),
        ("three_arm", {"vector": 1, "lexical": 2, "fuzzy": 3}, 0.5 / 61 + 0.3 / 62 + 0.2 / 63),
        # S4: 1 / 1
        ("rrf_mmr", {"lexical": 4, "vector": 2}, 1 / 64 + 1 / 62),
    ],
)  # fmt: skip
def test_fused_sums(db: Database, profile: str, ranks: dict[str, int], expected: float) -> None:
    assert fused(db, profile, **ranks) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("profile", ["gno_epic", "gno"])
@pytest.mark.parametrize(
    ("rank", "share"), [(1, 0.75), (3, 0.75), (4, 0.6), (10, 0.6), (11, 0.4), (500, 0.4)]
)
def test_blend_by_tiers(db: Database, profile: str, rank: int, share: float) -> None:
    expected = share * 0.8 + (1 - share) * 0.3
    assert blended(db, profile, 0.8, 0.3, rank, 500) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("rank", "position"), [(1, 1.0), (2, 0.9), (10, 0.1)])
def test_blend_with_the_position(db: Database, rank: int, position: float) -> None:
    expected = 0.5 * 0.9 + 0.3 * 0.008 + 0.2 * position
    assert blended(db, "three_arm", 0.008, 0.9, rank, 10) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("profile", "scale"),
    [("gno_epic", "raw"), ("gno", "minmax"), ("three_arm", "raw"), ("rrf_mmr", "minmax"),
     ("balanced", "attainable")],
)  # fmt: skip
def test_scale_of_what_is_blended(db: Database, profile: str, scale: str) -> None:
    assert settings_of(db, profile)["fused_scale"] == scale


@pytest.mark.parametrize(
    ("profile", "reranked", "variant", "expected"),
    [
        ("gno", False, False, 20),  # S1: limit x 2, each variant limit
        ("gno", True, False, 20),
        ("gno", True, True, 10),
        ("three_arm", True, False, 30),  # S2: limit x 3 with rerank, x 2 without
        ("three_arm", False, False, 20),
        ("gno_epic", True, False, 100),  # S0 and S4 name no rule: candidate_depth
        ("rrf_mmr", False, False, 100),
        ("balanced", True, True, 100),
    ],
)
def test_over_fetch(
    db: Database, profile: str, reranked: bool, variant: bool, expected: int
) -> None:
    assert depth(db, profile, 10, reranked, variant) == expected


def test_mmr_of_rrf_mmr(db: Database) -> None:
    assert settings_of(db, "rrf_mmr")["mmr"] == {"lambda": 0.7, "pool": 50}
    for profile in ("balanced", "gno", "gno_epic", "three_arm"):
        assert settings_of(db, profile)["mmr"]["lambda"] == 1  # off
    # lambda and pool are the function's own defaults, too
    default = "SELECT pg_get_function_arguments('mmr_select'::regproc)"
    assert "lambda double precision DEFAULT 0.7, pool integer DEFAULT 50" in db.value(default)


@pytest.mark.parametrize("profile", ["gno", "gno_epic"])
def test_strong_signal_on_gnos_own_scale(db: Database, profile: str) -> None:
    signal = settings_of(db, profile)["strong_signal"]
    assert (signal["score"], signal["gap"]) == (0.84, 0.14)
    scaled = {"center": signal["center"], "scale": signal["scale"]}
    query = "SELECT normalize_scores(ARRAY[4.5, 9.2, 9.1]::float8[], 'logistic', %s)"
    middle, strong, weak = db.value(query, Jsonb(scaled))
    assert (middle, strong >= 0.84, weak >= 0.84) == (0.5, True, False)


def test_words_of_gno_rank_documents(db: Database) -> None:
    assert settings_of(db, "gno")["level"] == "document"
    for profile in ("balanced", "gno_epic", "rrf_mmr", "three_arm"):
        assert settings_of(db, profile)["level"] == "chunk"


@pytest.mark.parametrize("profile", ["balanced", "gno", "gno_epic", "rrf_mmr", "three_arm"])
def test_a_search_by_each_profile(db: Database, profile: str) -> None:
    add_space(db)
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", LIBRARY)
    embed_waiting(db)
    rows = db.rows(
        "SELECT rank, score, arms FROM hybrid_search('wine production', profile => %s,"
        " query_embedding => %s)",
        profile,
        vector_of("wine production"),
    )
    assert [row[0] for row in rows] == list(range(1, len(LIBRARY) + 1))
    assert all(0 <= score <= 1 for _, score, _ in rows)
    if profile != "rrf_mmr":  # MMR orders by likeness, too
        assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
    arms = {arm for row in rows for arm in row[2]}
    assert arms >= {"lexical", "vector"}
    assert ("fuzzy" in arms) == (profile == "three_arm")


def test_the_default_is_spread_fusion(db: Database) -> None:
    settings = settings_of(db, "balanced")
    assert settings == settings_of(db, None)  # type: ignore[arg-type]
    assert (settings["fusion"], settings["normalization"], settings["bonus"]) == (
        "convex", {"method": "spread"}, {"kind": "none"},
    )  # fmt: skip
    assert settings["feedback"] == {"passages": 0, "weight": 0.5}
    assert [settings["weights"][arm] for arm in ("lexical", "vector", "fuzzy")] == [1, 2, 1]


# S3: cosine + 1 / (1 + depth); the profile comes with the graph arm.
@pytest.mark.parametrize(
    ("cosine", "distance", "expected"), [(0.8, 1, 1.3), (0.7, None, 0.7), (None, 2, 0.33)]
)
def test_graph_score(
    db: Database, cosine: float | None, distance: int | None, expected: float
) -> None:
    assert round(db.value("SELECT graph_score(%s, %s)", cosine, distance), 2) == expected
