from typing import Any

import pytest
from psycopg.types.json import Jsonb

from support.database import Database

TIER = {"max_rank": 3, "fused": 0.5, "rerank": 0.5}
SEARCH_SETTINGS = {
    "after": [1, {"score": "high"}, {"rank": 1}],
    "b": [-0.1, 1.1, "0.5", True],
    "blend": [
        "tiers",
        {},
        {"kind": []},
        {"kind": "tiers"},
        {"kind": "tiers", "tiers": []},
        {"kind": "tiers", "tiers": [TIER, TIER]},
        {"kind": "tiers", "tiers": [{**TIER, "max_rank": None}, TIER]},
        {"kind": "tiers", "tiers": [{**TIER, "fused": 1.5}]},
        {"kind": "tiers", "tiers": [{"max_rank": 3, "fused": 1}]},
        {"kind": "tiers", "tiers": [TIER], "fused": 1},
        {"kind": "position", "fused": 1, "rerank": 1},
        {"kind": "position", "fused": 1, "rerank": 1, "position": "1"},
    ],
    "bonus": [
        0.1,
        {"kind": "both"},
        {"kind": "none", "amount": 1},
        {"kind": "both_top", "depth": 0, "amount": 1},
        {"kind": "both_top", "depth": 5.5, "amount": 1},
        {"kind": "both_top", "depth": 5, "amount": -1},
        {"kind": "both_top", "depth": 5, "amount": 1, "unit": "metre"},
        {"kind": "tiers", "tiers": {"max_rank": 1, "amount": 1}},
        {"kind": "tiers", "tiers": [{"max_rank": None, "amount": 1}]},
    ],
    "boosts": [{}, [{"filter": {}}], [{"filter": {"a": {"is": 1}}, "factor": 1}], [1]],
    "candidate_depth": [0, 10001, 1.5, "10", [10]],
    "decays": [{}, [{"field": "a", "origin": 1}], [{"field": "$uri", "origin": 1, "half": 1}]],
    "dedup": ["on", True],
    "dedup_overlap": [0, 1.1, "half"],
    "dedup_similarity": [0, 1.1],
    "ef_search": [0, 1001, 2.5],
    "expand": ["maybe", 1, {}],
    "expansion": [
        "words",
        {"lexicalQueries": "a"},
        {"vectorQueries": [1]},
        {"lexicalQueries": ["x"] * 11},
        {"hyde": 5},
        {"embeddings": [[1, "a"]]},
        {"queries": []},
    ],
    "feedback": [2, {"passages": -1}, {"passages": 1.5}, {"weight": -1}, {"pool": 0}, {"k": 1}],
    "fused_scale": ["log", 1],
    "fusion": ["sum", 1],
    "fuzzy": ["maybe", True],
    "fuzzy_method": ["trigram", 1],
    "graph": [
        0.7,
        {"weight": -1},
        {"depth": 11},
        {"direction": "up"},
        {"edge_types": "link"},
        {"seeds": 0},
        {"node_limit": 0},
        {"combine": "max"},
        {"k": 1},
    ],
    "heading_weight": [-1, 101, "much"],
    "hidden": [{}, [{"query": "a"}], [{"query": "a", "documents": ["a"] * 101}]],
    "history": [
        "Hi",
        [{"role": "system", "content": "Hi"}],
        [{"role": "user"}],
        [{"role": "user", "content": "x" * 4001}],
        [{"role": "user", "content": "Hi"}] * 21,
    ],
    "hyde": ["always", True],
    "k1": [-1, 101, {}],
    "language": ["klingon", "", 5],
    "level": ["page", 1],
    "lexical_method": ["tf_idf", 1],
    "abstain_below": [-0.1, 1.1, "high"],
    "coverage": [0.4, 1, "high"],
    "min_relevance": [-1.1, 1.1, "high"],
    "min_score": [-0.1, 1.1],
    "mmr": [0.7, {"lambda": 1.1}, {"lambda": None}, {"pool": 0}, {"pool": 1001}, {"k": 1}, []],
    "normalization": [
        "minmax",
        {"method": "rank"},
        {"center": 4.5},
        {"center": {"words": 1}},
        {"scale": {"lexical": 0}},
        {"low": 0},
    ],
    "mode": ["slow", 1],
    "offset": [-1, 10001, 10.0],
    "other_languages": [-0.1, 1.1, "en"],
    "over_fetch": [2, {"factor": -1}, {"factor": None}, {"times": 2}],
    "per_document": [0, 10001, 1.5],
    "pinned": [{}, [{"documents": []}], [{"query": 1, "documents": []}], ["a"]],
    "recency_half_life_days": [0, -1, "30", 1e7],
    "rerank": ["maybe", 0],
    "rerank_depth": [0, 101, 2.5],
    "rerank_level": ["passage", 1],
    "rerank_scores": [0.5, {"1": 1.1}, {"1": "high"}, {"one": 1}, []],
    "rrf_k": [-1, 100001, 1e300],
    "since": ["soon", 5, "2026-02-30", ""],
    "strict": ["true", 1],
    "strong_signal": [0.5, {"score": -1}, {"power": 1}],
    "synonyms": [{}, [{}], [{"words": "tv"}], [{"words": ["a"], "weight": 2}], [{"to": ["a"]}]],
    "sub_questions": [4, {"most": 5}, {"most": 1.5}, {"weight": -1}, {"least": 1}],
    "timeouts_ms": [5, {"embed": 0}, {"embed": "1s"}, {"coffee": 5}, {"total": None}],
    "title_weight": [-1, 101, []],
    "until": ["tomorrow", True],
    "vector_scan": ["fast", 1],
    "wait_for": ["soon", "0/G", "", 5],
    "weights": [1, {"lexical": -1}, {"taste": 1}, []],
    "answer_tokens": [0, 100001, "x"],
    "rescore_factor": [0, "x"],
    "columns": [["rang"], ["content", 1], "content", {"content": True}],
    "context_chars": [{"before": -1}, {"around": 5}, {"after": "x"}, -1, 20001, "500"],
    "context_order": ["size", 1],
    "max_file_tokens": [0, 1.5, "many"],
    "max_part_tokens": [0, 10000001, "x"],
    "max_tokens": [0, "x"],
    "reserve_tokens": [{"code": -1}, {"text": 5}, 5],
    "space": [5, ["default"]],
    "tenant": [7, ["a"], "x" * 201],
}


def set_setting(db: Database, name: str, value: Any) -> None:
    db.rows("SELECT set_setting(%s, %s)", name, Jsonb(value))


def resolved(db: Database, name: str, options: dict[str, Any], ids: list[int] | None = None) -> Any:
    query = "SELECT pgblend._search_settings(%s, NULL, %s::bigint[]) -> %s"
    return db.value(query, Jsonb(options), ids or [], name)


def test_every_search_setting_has_wrong_values_below(db: Database) -> None:
    names = db.column("SELECT name FROM setting_catalog() WHERE scope = 'search'")
    assert set(names) == SEARCH_SETTINGS.keys()


def test_a_number_stands_for_both_sides(db: Database) -> None:
    assert resolved(db, "context_chars", {"context_chars": 500}) == {"before": 500, "after": 500}
    set_setting(db, "context_chars", 300)
    assert db.value("SELECT get_setting('context_chars')") == {"before": 300, "after": 300}
    after = {"context_chars": {"after": 9}}
    assert resolved(db, "context_chars", after) == {"before": 300, "after": 9}
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'k', repeat('a word of it. ', 900))")
    found = "SELECT * FROM lexical_search('word', 1, options => %s)"
    either, both = (
        db.rows(found, Jsonb({"context_chars": value, "dedup": "off"}))
        for value in (200, {"before": 200, "after": 200})
    )
    assert either == both
    assert any("word" in str(value) for value in either[0][15:17])


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in SEARCH_SETTINGS.items() for value in values],
)
def test_wrong_option(db: Database, name: str, value: Any) -> None:
    for function in ("hybrid_search", "lexical_search", "vector_search"):
        error = db.error(f"SELECT * FROM {function}('x', options => %s)", Jsonb({name: value}))
        assert error.sqlstate == "22023"
        assert f'"{name}" is ' in str(error.message_primary)
        assert "expected" in str(error.message_primary)
        assert error.message_hint
    assert db.error("SELECT set_setting(%s, %s)", name, Jsonb(value)).sqlstate == "22023"


@pytest.mark.parametrize(
    ("options", "part"),
    [({"k2": 1}, 'no setting "k2"'), ({"chunk_size_tokens": 9}, "no setting"), ([], "JSON object")],
)
def test_unknown_option(db: Database, options: Any, part: str) -> None:
    error = db.error("SELECT * FROM hybrid_search('x', options => %s)", Jsonb(options))
    assert (error.sqlstate, part in str(error.message_primary)) == ("22023", True)
    assert error.message_hint


def test_each_default_is_a_right_value(db: Database) -> None:
    assert (
        db.rows(
            "SELECT * FROM setting_catalog() AS c"
            " WHERE pgblend._setting_error(c.name, c.default_value) IS NOT NULL"
        )
        == []
    )


def test_limits_of_a_range_are_in_it(db: Database) -> None:
    for name, low, high in db.rows(
        "SELECT name, minimum, maximum FROM setting_catalog()"
        " WHERE minimum IS NOT NULL AND value_type NOT IN ('object', 'numbers', 'scores')"
        " AND scope = 'search'"
    ):
        for limit in (low, high):
            whole = int(limit) if limit.is_integer() else limit
            assert resolved(db, name, {name: whole}) == limit


def test_null_options_are_none(db: Database) -> None:
    assert resolved(db, "rrf_k", {"rrf_k": None}) == 60
    assert db.rows("SELECT * FROM lexical_search('x', options => NULL)") == []


def test_call_over_collection_over_profile_over_database_over_default(db: Database) -> None:
    assert resolved(db, "rrf_k", {}) == 60
    set_setting(db, "rrf_k", 50)
    assert resolved(db, "rrf_k", {}) == 50
    db.rows(
        """UPDATE pgblend_data.profile SET settings = '{"rrf_k": 40}' WHERE name = 'balanced'"""
    )
    assert resolved(db, "rrf_k", {}) == 40
    one = db.value("""SELECT add_collection('one', settings => '{"rrf_k": 30}')""")
    two = db.value("SELECT add_collection('two')")
    assert resolved(db, "rrf_k", {}, [one]) == 30
    assert resolved(db, "rrf_k", {}, [one, two]) == 40  # of several collections none counts
    assert resolved(db, "rrf_k", {"rrf_k": 20}, [one]) == 20


def test_objects_are_merged_key_by_key(db: Database) -> None:
    # The profile's own weights would stand before the database's.
    db.rows("UPDATE pgblend_data.profile SET settings = '{}' WHERE name = 'balanced'")
    default = resolved(db, "weights", {})
    set_setting(db, "weights", {"vector": 3})
    assert resolved(db, "weights", {"weights": {"lexical": 2}}) == {
        **default,
        "vector": 3,
        "lexical": 2,
    }
    of_database = db.value("SELECT default_value FROM settings WHERE name = 'weights'")
    assert db.value("SELECT get_setting('weights')") == {**of_database, "vector": 3}
    value = db.value("SELECT value FROM settings WHERE name = 'weights'")
    assert value == {**of_database, "vector": 3}


def test_an_object_with_a_kind_is_a_whole(db: Database) -> None:
    position = {"kind": "position", "fused": 0.3, "rerank": 0.5, "position": 0.2}
    set_setting(db, "blend", position)
    assert db.value("SELECT get_setting('blend')") == position
    assert db.value("SELECT value FROM settings WHERE name = 'blend'") == position
    assert resolved(db, "blend", {}) == position
    tiers = {"kind": "tiers", "tiers": [{"max_rank": None, "fused": 1, "rerank": 0}]}
    assert resolved(db, "blend", {"blend": tiers}) == tiers


def test_a_timeout_may_be_set_alone(db: Database) -> None:
    set_setting(db, "timeouts_ms", {"total": 7000.5})
    assert db.value("SELECT get_setting('timeouts_ms') ->> 'embed'") == "2000"
    set_setting(db, "timeouts_ms", {"embed": 1500.5})
    assert db.error("SELECT embed_text(ARRAY['x'])").sqlstate == "PB008"  # and not a wrong number


@pytest.mark.parametrize("profile", ["nope", ""])
def test_unknown_profile(db: Database, profile: str) -> None:
    error = db.error("SELECT * FROM hybrid_search('x', profile => %s)", profile)
    assert error.sqlstate == "22023"
    assert "no profile" in str(error.message_primary)


def test_default_profile(db: Database) -> None:
    assert db.error("""SELECT set_setting('default_profile', '"mine"')""").sqlstate == "22023"
    db.rows("INSERT INTO pgblend_data.profile VALUES ('mine', 'test', '{\"k1\": 2}')")
    set_setting(db, "default_profile", "mine")
    assert resolved(db, "k1", {}) == 2


def test_set_get_reset_and_history(db: Database) -> None:
    set_setting(db, "k1", 2)
    set_setting(db, "k1", 1.5)
    assert db.value("SELECT get_setting('k1')") == 1.5
    source = "SELECT source, default_value, changed_by::text FROM settings WHERE name = 'k1'"
    assert db.row(source) == ("database", 1.2, db.value("SELECT session_user::text"))
    db.rows("SELECT reset_setting('k1')")
    db.rows("SELECT reset_setting('k1')")
    assert db.row(source) == ("default", 1.2, None)
    changes = db.rows("SELECT old_value, new_value FROM setting_changes WHERE name = 'k1'")
    assert changes == [(None, 2), (2, 1.5), (1.5, None)]


@pytest.mark.parametrize("value", [None, Jsonb(None)])
def test_setting_null_resets(db: Database, value: Any) -> None:
    set_setting(db, "k1", 2)
    db.rows("SELECT set_setting('k1', %s)", value)
    assert db.value("SELECT get_setting('k1')") == 1.2


@pytest.mark.parametrize("name", ["nope", "", None, "k1; DROP TABLE x"])
def test_unknown_setting(db: Database, name: str | None) -> None:
    for query in ("get_setting(%s)", "set_setting(%s, '1')", "reset_setting(%s)"):
        error = db.error(f"SELECT {query}", name)
        assert error.sqlstate in ("22023", "22004")
        assert str(error.message_hint).startswith("The nearest are " if name else ("The", "SELECT"))


def test_a_reader_hears_which_settings_are_the_nearest(db: Database) -> None:
    db.rows("SET ROLE pgblend_reader")
    error = db.error("SELECT get_setting('candidate_depht')")
    db.rows("RESET ROLE")
    assert str(error.message_hint).startswith("The nearest are candidate_depth and ")


def test_without_a_value_there_is_none(db: Database) -> None:
    assert db.value("SELECT get_setting('gateway_url')") is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://models/api", "unix:/run/x y.sock"])
def test_gateway_addresses(db: Database, url: str) -> None:
    set_setting(db, "gateway_url", url)
    assert db.value("SELECT get_setting('gateway_url')") == url


@pytest.mark.parametrize("url", ["localhost:80", "ftp://x", "http://", "unix:", "http://a b", ""])
def test_wrong_gateway_addresses(db: Database, url: str) -> None:
    error = db.error("SELECT set_setting('gateway_url', %s)", Jsonb(url))
    assert "expected http://host:port or unix:/path" in str(error.message_primary)


def test_chunk_sizes_must_fit_together(db: Database) -> None:
    error = db.error("SELECT set_setting('chunk_size_tokens', '60')")
    assert "chunk_overlap_tokens is 80: expected less" in str(error.message_primary)
    error = db.error("""SELECT add_collection('x', settings => '{"min_chunk_size_tokens": 400}')""")
    assert "min_chunk_size_tokens is 400: expected less" in str(error.message_primary)
    set_setting(db, "chunk_overlap_tokens", 10)
    set_setting(db, "chunk_size_tokens", 60)


def test_settings_view_lists_the_catalogue(db: Database) -> None:
    names = db.column("SELECT name FROM settings ORDER BY 1")
    assert names == db.column("SELECT name FROM setting_catalog() ORDER BY 1")
    assert len(names) == len(set(names))


def test_the_nearest_of_many_long_names_are_looked_for_among_the_first(db: Database) -> None:
    names = [f"n{number}" + "x" * 1000 for number in range(5000)]
    told = db.value("SELECT pgblend._nearest_names(%s, %s)", "n7" * 100_000, [None, *names])
    assert told.startswith("The nearest are n7")
    assert told.count(",") == 298
    assert max(map(len, told.split(", "))) < 400
