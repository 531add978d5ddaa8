"""Rules of a shop: boosts, decays, pinned and hidden documents."""

import json
from typing import Any

import pytest

from support.database import Database, add_space, embed_waiting, vector_of
from support.model_library import QUERY, WEAK, fill, use_models
from support.model_provider import GatewayProcess, ModelProvider

# key, text, metadata, when it was modified
GOODS: list[tuple[str, str, dict[str, Any], str]] = [
    ("anvil", "red lamp red lamp", {"brand": "acme", "price": 100}, "2026-01-01"),
    ("beam", "red lamp", {"brand": "beta", "price": 150}, "2026-01-11"),
    ("cone", "a red lamp of glass", {"brand": "acme", "price": [900, 300]}, "2026-03-01"),
    ("dish", "a dish, not a lamp", {"brand": "beta", "date": "2020-01-01"}, "2026-01-01"),
    ("edge", "nothing of the kind", {"brand": "acme", "price": "cheap"}, "2026-01-01"),
]
QUERY_OF_SHOP = "red lamp"
SEARCH = """
    SELECT source_key, score, details, relevance, chunk_id
    FROM hybrid_search(%s, 20, options => %s, filter => %s, query_embedding => %s)
"""


@pytest.fixture
def shop(db: Database) -> Database:
    db.rows("SELECT add_collection('c', 'english')")
    for key, text, metadata, modified in GOODS:
        db.rows(
            "SELECT ingest_document('c', %s, %s, metadata => %s, modified_at => %s)",
            *(key, text, json.dumps(metadata), modified),
        )
    add_space(db)
    embed_waiting(db)
    return db


def rows(db: Database, options: dict[str, Any], filter_: Any = None) -> list[Any]:
    told = None if filter_ is None else json.dumps(filter_)
    given = json.dumps({"mode": "fast", "candidate_depth": 4, **options})
    return db.rows(SEARCH, QUERY_OF_SHOP, given, told, vector_of(QUERY_OF_SHOP))


def keys(db: Database, options: dict[str, Any], filter_: Any = None) -> list[str]:
    return [row[0] for row in rows(db, options, filter_)]


def scores(db: Database, options: dict[str, Any]) -> dict[str, float]:
    return {row[0]: row[1] for row in rows(db, options)}


def explained(db: Database, options: dict[str, Any], query: str = QUERY_OF_SHOP) -> Any:
    """Return the trace of a search, whose rows' parts add up to their scores."""
    told = db.value(
        "SELECT search_explain(%s, options => %s, query_embedding => %s)",
        *(query, json.dumps({"mode": "fast", **options}), vector_of(query)),
    )
    for row in told["results"]:
        assert sum(row["parts"].values()) == pytest.approx(row["score"], abs=1e-9), row
    return told


ACME = {"filter": {"brand": "acme"}, "factor": 0.5}
BETA = {"filter": {"brand": "beta"}, "factor": 3}


def test_boosts_multiply_scores(shop: Database) -> None:
    plain = scores(shop, {})
    halved = scores(shop, {"boosts": [ACME, {"filter": {"price": {"lt": 120}}, "factor": 0.5}]})
    factor = {"anvil": 0.25, "cone": 0.5, "edge": 0.5}
    assert halved == {key: pytest.approx(one * factor.get(key, 1)) for key, one in plain.items()}


def test_a_boost_brings_to_the_front_and_no_score_leaves_its_range(shop: Database) -> None:
    plain, boosted = scores(shop, {}), scores(shop, {"boosts": [BETA]})
    assert next(iter(plain)) == "anvil"
    assert next(iter(boosted)) == "beam"
    assert boosted["beam"] == 1
    ratio = boosted["anvil"] / plain["anvil"]
    assert boosted["dish"] == pytest.approx(plain["dish"] * 3 * ratio)
    assert {*boosted} == {*plain}


def test_a_row_says_which_rules_changed_it(shop: Database) -> None:
    decay = {"field": "price", "origin": 100, "half": 50}
    found = {
        row[0]: row[2].get("rules") for row in rows(shop, {"boosts": [ACME], "decays": [decay]})
    }
    boost = {"boost": {"brand": "acme"}, "factor": 0.5}
    assert found["anvil"] == [boost]
    assert found["beam"] == [{"decay": "price", "factor": 0.5}]
    assert found["cone"] == [boost, {"decay": "price", "factor": pytest.approx(1 / 16)}]
    assert found.get("dish") is None


@pytest.mark.parametrize(
    ("decay", "left"),
    [
        ({"field": "price", "origin": 100, "half": 50}, {"beam": 1 / 2, "cone": 1 / 16}),
        ({"field": "price", "origin": 100, "half": 50, "shape": "gauss"},
         {"beam": 1 / 2, "cone": 0.5**16}),
        ({"field": "price", "origin": 100, "half": 50, "shape": "linear"},
         {"beam": 1 / 2, "cone": 0}),
        ({"field": "price", "origin": 100, "half": 50, "flat": 50, "least": 0.2},
         {"cone": 0.2}),
        ({"field": "$modified_at", "origin": "2026-01-01", "half": 10}, {"beam": 1 / 2,
         "cone": 0.5**5.9}),
        ({"field": "$date", "origin": "2026-01-11T00:00:00Z", "half": 10},
         {"anvil": 1 / 2, "dish": 1 / 2, "edge": 1 / 2, "cone": 0.5**4.9}),
        ({"field": "date", "origin": "2020-01-31", "half": 10}, {"dish": 0.125}),
        ({"field": "$metadata.nowhere", "origin": 1, "half": 1}, {}),
    ],
)  # fmt: skip
def test_decays_take_by_distance(shop: Database, decay: Any, left: dict[str, float]) -> None:
    plain, decayed = scores(shop, {}), scores(shop, {"decays": [decay]})
    assert decayed == {key: pytest.approx(one * left.get(key, 1)) for key, one in plain.items()}


def test_now_is_the_time_of_the_search(shop: Database) -> None:
    shop.rows(
        "UPDATE pgblend_data.document SET modified_at = now() - interval '3 days'"
        " WHERE source_key = 'anvil'"
    )
    plain = scores(shop, {})
    decays = [{"field": "$date", "origin": "now", "half": 3, "flat": 0}]
    assert scores(shop, {"decays": decays})["anvil"] == pytest.approx(plain["anvil"] / 2)


RULED: list[dict[str, Any]] = [
    {"boosts": [BETA]},
    {"boosts": [ACME, BETA], "decays": [{"field": "price", "origin": 0, "half": 99}]},
    {"boosts": [BETA], "recency_half_life_days": 400, "other_languages": 0.5},
    {"boosts": [BETA], "graph": {"weight": 0.7}},
    {"boosts": [BETA], "graph": {"weight": 1, "combine": "sum"}},
    {"boosts": [BETA], "fusion": "rrf", "fused_scale": "raw"},
    {"boosts": [BETA], "level": "document", "mmr": {"lambda": 0.5}},
    {"pinned": [{"query": "*", "documents": ["edge", "dish"]}], "boosts": [BETA]},
    {"pinned": [{"query": "*", "documents": ["edge"]}], "candidate_depth": 1},
    {"pinned": [{"query": "*", "documents": ["edge"]}], "weights": {"lexical": 0}},
    {"pinned": [{"query": "*", "documents": ["edge"]}], "graph": {"weight": 0.7}},
]


def test_parts_add_up_under_any_rule(shop: Database) -> None:
    for options in RULED:
        told = explained(shop, options)
        named = {name for row in told["results"] for name in row["parts"]}
        assert named & {"boost", "pinned"}, options
        assert "rules" in {stage["name"] for stage in told["stages"]}
        assert all(row["places"]["rules"] >= 1 for row in told["results"])


def test_without_rules_nothing_is_told_of_them(shop: Database) -> None:
    told = explained(shop, {"pinned": [{"query": "other", "documents": ["edge"]}]})
    assert "rules" not in {stage["name"] for stage in told["stages"]}
    assert all("rules" not in row["details"] for row in told["results"])


def test_parts_add_up_with_a_reranker(
    db: Database, session_gateway: GatewayProcess, model_provider: ModelProvider
) -> None:
    fill(db)
    use_models(db, session_gateway, model_provider)
    options = {
        "boosts": [{"filter": {"$source_key": "sea"}, "factor": 5}],
        "pinned": [{"query": "how do i *", "documents": ["sea", "wine"]}],
    }
    for more in ({}, {"mmr": {"lambda": 0.4}}, {"rerank_depth": 2}):
        told = explained(db, WEAK | options | {"mode": "default"} | more, QUERY)
        assert [row["source_key"] for row in told["results"]][:2] == ["sea", "wine"]
        assert told["results"][0]["parts"]["pinned"] > 0


PINNED = {"pinned": [{"query": "RED  *", "documents": ["edge", "nowhere", "beam"]}]}


def test_pinned_documents_come_first_found_or_not(shop: Database) -> None:
    assert "edge" not in keys(shop, {"candidate_depth": 2})
    found = rows(shop, PINNED | {"candidate_depth": 2})
    assert [row[0] for row in found[:2]] == ["edge", "beam"]
    assert [row[1] for row in found[:2]] == [1, 1]
    assert found[0][2]["rules"] == [{"pinned": "RED  *"}]
    assert len({row[0] for row in found}) == len(found)


def test_an_explanation_says_which_names_nothing_has(shop: Database) -> None:
    stages = explained(shop, PINNED)["stages"]
    (rules,) = (stage for stage in stages if stage["name"] == "rules")
    assert rules["details"] == {"not_found": ["nowhere"]}


def test_documents_are_named_by_their_uris_too(shop: Database) -> None:
    shop.rows("UPDATE pgblend_data.document SET uri = 'a/dish.md' WHERE source_key = 'dish'")
    named = [{"query": "*", "documents": ["a/dish.md", "beam", "dish"]}]
    assert keys(shop, {"pinned": named})[:2] == ["dish", "beam"]
    assert {"dish", "beam"}.isdisjoint(keys(shop, {"hidden": named}))


def test_a_pinned_document_keeps_its_relevance(shop: Database) -> None:
    plain = {row[0]: row[3] for row in rows(shop, {"candidate_depth": 5})}
    ruled = rows(shop, PINNED | {"boosts": [BETA], "candidate_depth": 5})
    assert {row[0]: pytest.approx(row[3]) for row in ruled} == plain


def test_no_minimum_leaves_a_pinned_document_out(shop: Database) -> None:
    for least in ({"min_score": 0.99}, {"min_relevance": 0.999}, {"mmr": {"lambda": 0.1}}):
        assert keys(shop, PINNED | least)[:2] == ["edge", "beam"]


@pytest.mark.parametrize(
    "options",
    [{}, {"mmr": {"lambda": 0.3}}, {"level": "document"}, {"dedup": "near"}, {"fusion": "rrf"}],
)
def test_pages_are_parts_of_one_list(shop: Database, options: dict[str, Any]) -> None:
    options |= PINNED | {"boosts": [BETA], "mode": "fast"}
    whole = keys(shop, options | {"candidate_depth": 100})
    call = "SELECT source_key, details -> 'cursor' FROM hybrid_search(%s, 1, options => %s)"
    found, after = [], {}
    for _ in whole:
        asked = json.dumps(options | ({"after": after} if after else {}))
        ((key, after),) = shop.rows(call, QUERY_OF_SHOP, asked)
        found.append(key)
    words = [row[0] for row in shop.rows(call.replace(", 1,", ", 20,"), QUERY_OF_SHOP,
                                         json.dumps(options))]  # fmt: skip
    assert found == words


def test_a_filter_binds_pinned_documents(shop: Database) -> None:
    assert keys(shop, PINNED, {"brand": "beta"})[0] == "beam"
    assert "edge" not in keys(shop, PINNED, {"brand": "beta"})
    assert "edge" not in keys(shop, PINNED | {"since": "2026-01-02"})
    assert "edge" not in keys(shop, PINNED | {"language": "german"})
    assert keys(shop, PINNED, {"$source_key": "edge"}) == ["edge"]


def test_each_arm_alone_goes_by_the_rules(shop: Database) -> None:
    for function in ("lexical_search", "vector_search", "fuzzy_search"):
        vector = ", query_embedding => %s" if function == "vector_search" else ""
        found = shop.column(
            f"SELECT source_key FROM {function}(%s, options => %s{vector})",
            *(QUERY_OF_SHOP, json.dumps(PINNED | {"strict": False})),
            *([vector_of(QUERY_OF_SHOP)] if vector else []),
        )
        assert found[:2] == ["edge", "beam"], function


HIDDEN = {"hidden": [{"query": "*lamp*", "documents": ["anvil", "edge"]}]}


def test_hidden_documents_are_nowhere(shop: Database) -> None:
    found = keys(shop, HIDDEN | PINNED)
    assert {"anvil", "edge"}.isdisjoint(found)
    assert found[0] == "beam"
    other = {"hidden": [{"query": "lamp", "documents": ["anvil"]}]}
    assert "anvil" in keys(shop, other)
    call = "SELECT value, count FROM search_facets(%s, '{$source_key}', options => %s)"
    counted = dict(shop.rows(call, QUERY_OF_SHOP, json.dumps(HIDDEN | {"mode": "fast"})))
    assert "anvil" not in counted
    assert "beam" in counted
    told = shop.value("SELECT search_diagnose(%s, 'anvil', options => %s)", QUERY_OF_SHOP,
                      json.dumps(HIDDEN | {"mode": "fast"}))  # fmt: skip
    assert "not" in told["verdict"]
    assert told["stages"][-1]["stage"] == "filter"


def test_hidden_joins_the_callers_filter(shop: Database) -> None:
    assert "cone" in keys(shop, HIDDEN, {"brand": "acme"})
    assert keys(shop, HIDDEN, {"brand": {"ne": "beta"}}) == ["cone"]


def test_who_may_not_see_a_document_is_not_shown_it(two_collections: Any) -> None:
    admin, reader = two_collections.admin, two_collections.reader
    secret = admin.column(
        "SELECT d.source_key FROM pgblend_data.document AS d"
        " JOIN pgblend_data.collection AS c ON c.id = d.collection_id WHERE c.name = 'secret'"
    )
    own = reader.column("SELECT source_key FROM blend.documents")
    only_secret = [key for key in secret if key not in own]
    documents = [*only_secret, *secret]
    options = json.dumps({"pinned": [{"query": "*", "documents": documents}], "mode": "fast"})
    call = "SELECT collection FROM hybrid_search('wine', 50, options => %s)"
    assert "secret" in admin.column(call, options)
    assert "secret" not in reader.column(call, options)


def test_rules_are_settings_with_history(shop: Database) -> None:
    shop.rows("SELECT set_collection_settings('c', %s)", json.dumps(PINNED))
    assert keys(shop, {})[:2] == ["edge", "beam"]
    assert keys(shop, {"pinned": []})[0] == "anvil"
    history = shop.rows(
        "SELECT scope, subject, new_value FROM pgblend_data.setting_history WHERE name = 'pinned'"
    )
    assert history == [("collection", "c", PINNED["pinned"])]
    shop.rows("SELECT set_profile('sale', settings => %s)", json.dumps({"boosts": [BETA]}))
    found = shop.column("SELECT source_key FROM hybrid_search('red lamp', profile => 'sale')")
    assert found[:2] == ["edge", "beam"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"boosts": [{"filter": {"a": {"is": 1}}, "factor": 2}]}, '[1].filter: filter: "a" is'),
        ({"boosts": [{"filter": [], "factor": 2}]}, "[1].filter: filter is []"),
        ({"boosts": [{"filter": {}, "factor": -1}]}, "[1].factor: expected a number from 0"),
        ({"boosts": [{"factor": 1}]}, 'lacks the key "[1].filter"'),
        ({"decays": [{"field": "$uri", "origin": 1, "half": 1}]}, "[1].field: expected a key of"),
        ({"decays": [{"field": "$uro", "origin": 1, "half": 1}]}, "[1].field: filter: there is"),
        ({"decays": [{"field": "$date", "origin": 1, "half": 1}]}, "[1].origin: expected a date"),
        ({"decays": [{"field": "a", "origin": "soon", "half": 1}]}, "[1].origin: expected a numb"),
        ({"decays": [{"field": "a", "origin": 1, "half": 0}]}, "[1].half: expected a number"),
        ({"pinned": [{"query": "a"}]}, 'lacks the key "[1].documents"'),
        ({"hidden": [{"query": "a", "documents": [1]}]}, "[1].documents[1]: expected a text"),
    ],
)
def test_wrong_rules_are_errors(shop: Database, options: dict[str, Any], message: str) -> None:
    said = shop.error("SELECT FROM hybrid_search('x', options => %s)", json.dumps(options))
    assert said.sqlstate == "22023"
    assert message in str(said.message_primary)
