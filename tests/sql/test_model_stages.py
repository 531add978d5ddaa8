"""Stages that ask models, through a real gateway: expansion, vectors, rerank, blend."""

import json
from typing import Any

import psycopg
import pytest

from support.database import Database
from support.model_library import EXPANSION, QUERY, WEAK, fill, search, use_models
from support.model_provider import GatewayProcess, ModelProvider

THOROUGH = {"mode": "thorough", **WEAK}


@pytest.fixture(scope="module")
def filled(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    fill(db)
    return db


@pytest.fixture
def db(filled: Database, gateway: GatewayProcess, model_provider: ModelProvider) -> Any:
    with filled.connection.transaction(force_rollback=True):
        use_models(filled, gateway, model_provider)
        filled.warnings()
        yield filled


def asked(provider: ModelProvider, key: str) -> list[Any]:
    """What the provider was asked, of the requests that have a key."""
    return [body[key] for body in provider.bodies if key in body]


def test_expand_query(db: Database) -> None:
    told = db.value("SELECT expand_query(%s)", QUERY)
    assert {name: told[name] for name in ("lexicalQueries", "vectorQueries", "hyde")} == {
        name: EXPANSION[name] for name in ("lexicalQueries", "vectorQueries", "hyde")
    }
    assert told["queryLanguage"] == "en"
    assert told["promptVersion"]
    assert told["cached"] is False


def test_hyde_alone(db: Database, model_provider: ModelProvider) -> None:
    model_provider.reply = lambda _: "One deploys to production with a script."
    told = db.value("SELECT expand_query(%s, hyde_only => true)", QUERY)
    assert (told["lexicalQueries"], told["vectorQueries"]) == ([], [])
    assert told["hyde"] == "One deploys to production with a script."


@pytest.mark.parametrize("query", ["", " ", None])
def test_nothing_to_expand_or_to_rerank(
    db: Database, model_provider: ModelProvider, query: str | None
) -> None:
    assert db.value("SELECT expand_query(%s)", query) is None
    assert db.rows("SELECT * FROM rerank_passages(%s, '{a}')", query) == []
    assert db.rows("SELECT * FROM rerank_passages('a', '{}')") == []
    assert model_provider.requests == 0


def test_rerank_passages(db: Database, model_provider: ModelProvider) -> None:
    rows = db.rows(
        "SELECT * FROM rerank_passages('deploy care', ARRAY['x', 'deploy', 'deploy care', NULL])"
    )
    assert rows == [(1, 3, 1.0), (2, 2, 0.5), (3, 1, 0.0), (4, 4, 0.0)]
    db.rows("SELECT * FROM rerank_passages('a', ARRAY[repeat('abc ', 2000)])")
    assert len(asked(model_provider, "documents")[-1][0]) == 3999  # whole words of 4,000 characters


@pytest.mark.parametrize(
    "call", ["expand_query('x', timeout_ms => 0)", "rerank_passages('x', '{a}', timeout_ms => -1)"]
)
def test_wrong_time_limits(db: Database, call: str) -> None:
    error = db.error(f"SELECT {call}")
    assert (error.sqlstate, str(error.message_primary)[:13]) == ("22023", "timeout_ms is")


def test_a_thorough_search(db: Database, model_provider: ModelProvider) -> None:
    rows = search(db, "source_key, score, relevance, arms, details, degraded", THOROUGH)
    assert [row[5] for row in rows] == [[]] * len(rows)
    assert db.warnings() == []
    arms = {row[0]: row[3] for row in rows}
    assert arms["question"]["rerank"] == {"rank": 1, "score": 1.0}
    assert {"lexical_variant_1", "vector_variant_1", "hyde"} <= arms["rollout"].keys()
    assert rows[0][4]["expansion"] == "expanded"
    assert {row[4]["relevance_basis"] for row in rows} == {"rerank"}
    relevance = {row[0]: row[2] for row in rows}
    assert relevance["question"] == 1.0
    assert relevance["sea"] == 0.0
    scores = [row[1] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    # the query, the variant and the passage were embedded in one call
    assert asked(model_provider, "input") == [
        [QUERY, EXPANSION["vectorQueries"][0], EXPANSION["hyde"]]
    ]
    assert [len(texts) for texts in asked(model_provider, "documents")] == [6]


def test_a_strong_signal_skips_the_expansion(db: Database, model_provider: ModelProvider) -> None:
    strong = {"mode": "thorough", "strong_signal": {"score": 0, "gap": 0}}
    rows = search(db, "details, arms", strong)
    assert {row[0]["expansion"] for row in rows} == {"skipped_strong"}
    assert not any("hyde" in row[1] for row in rows)
    assert asked(model_provider, "input") == [[QUERY]]


ANSWER = "brass turbine bearing grease weekly"
AGAIN = "grease the brass turbine bearing weekly"
AFTER = "or when the crew hears it after a night shift"
NEAR = f"{ANSWER} {AFTER}"
RIVAL = "weekly turbine grease: brass bearing"
SIGNALS = {
    "alone": ({"a": [ANSWER]}, {}, True),
    "the same document's next passage": ({"a": [ANSWER, AGAIN]}, {}, True),
    "another document's passage": ({"a": [ANSWER], "b": [RIVAL]}, {}, False),
    "a copy under another key": ({"a": [ANSWER], "b": [ANSWER]}, {}, True),
    "a copy of all passages": ({"a": [ANSWER, AGAIN], "b": [ANSWER, AGAIN]}, {}, True),
    "a near copy": ({"a": [NEAR], "b": [f"{NEAR} now"]}, {"dedup": "near"}, True),
    "a near copy and a rival": (
        {"a": [NEAR], "b": [f"{NEAR} now"], "c": [f"{RIVAL} {AFTER}"]},
        {"dedup": "near"},
        False,
    ),
    "what is told apart": ({"a": [NEAR], "b": [f"{NEAR} now"]}, {}, False),
    "a document that fills the list": ({"a": [ANSWER] * 5}, {"candidate_depth": 2}, True),
    "a rival below the list": ({"a": [ANSWER] * 5, "b": [RIVAL]}, {"candidate_depth": 2}, False),
}
OF_PASSAGES = {"a copy of one passage": ({"a": [ANSWER], "b": [ANSWER, RIVAL]}, {}, False)}


@pytest.mark.parametrize(("profile", "cases"), [(None, SIGNALS | OF_PASSAGES), ("gno", SIGNALS)])
def test_a_signal_is_strong_above_other_documents_texts(
    db: Database, profile: str | None, cases: dict[str, Any]
) -> None:
    db.rows("SELECT add_collection('signal')")
    report = "the crew wrote a report on a quiet night of all pumps that it had seen and heard. "
    fill = "SELECT ingest_document('signal', n::text, %s || n) FROM generate_series(1, 40) AS n"
    db.rows(fill, 2 * report)
    told = {}
    for case, (documents, options, _) in cases.items():
        with db.connection.transaction(force_rollback=True):
            for key, texts in documents.items():
                chunks = json.dumps([{"content": text} for text in texts])
                db.rows("SELECT ingest_document('signal', %s, '', chunks => %s)", key, chunks)
            (row, *_) = search(
                *(db, "details", {"mode": "thorough", **options}),
                query="brass turbine bearing grease weekly",
                collections=["signal"],
                profile=profile,
            )
            told[case] = row[0]["expansion"]
    assert told == {
        case: "skipped_strong" if is_strong else "expanded"
        for case, (_, _, is_strong) in cases.items()
    }


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({}, {"rerank"}),
        ({"mode": "fast"}, set()),
        ({"mode": "api"}, set()),
        ({"mode": "tool"}, set()),
        ({"mode": "agent", **WEAK}, {"expand", "rerank"}),
        ({"mode": "thorough", "expand": "off"}, {"rerank"}),
        ({"mode": "thorough", "rerank": False, **WEAK}, {"expand"}),
        ({"mode": "fast", "rerank": True}, {"rerank"}),
        ({"mode": "fast", "expand": "on", **WEAK}, {"expand"}),
    ],
)
def test_modes_and_switches(db: Database, options: dict[str, Any], stages: set[str]) -> None:
    told = db.value("SELECT search_explain(%s, options => %s)", QUERY, json.dumps(options))
    ran = {stage["name"] for stage in told["stages"] if "skipped" not in stage}
    assert ran & {"expand", "rerank"} == stages
    assert ("blend" in ran) == ("rerank" in stages)
    assert db.warnings() == []


def test_the_query_and_its_hypothetical_answer_as_one_text(
    db: Database, model_provider: ModelProvider
) -> None:
    model_provider.reply = lambda _: "One deploys to production with a script."
    rows = search(db, "arms", {"mode": "thorough"}, profile="three_arm")  # no signal is strong
    assert asked(model_provider, "input") == [
        [f"{QUERY}\n\nOne deploys to production with a script."]
    ]
    assert set().union(*(row[0] for row in rows)) <= {
        *("lexical", "vector", "fuzzy", "rerank", "fused"),
    }


def test_what_the_caller_passes_in_gives_the_same_rows(
    db: Database, model_provider: ModelProvider
) -> None:
    columns = "source_key, score, relevance, arms"
    expected = search(db, columns, THOROUGH)
    expansion = db.value("SELECT expand_query(%s)", QUERY)
    texts = [QUERY, *expansion["vectorQueries"], expansion["hyde"]]
    vectors = [v.to_list() for v in db.value("SELECT embed_text(%s)", texts)]
    options = {**WEAK, "mode": "fast", "expansion": {**expansion, "embeddings": vectors[1:]}}
    passages = db.rows(
        "SELECT chunk_id, passage FROM rerank_candidates(%s, options => %s, query_embedding => %s)",
        *(QUERY, json.dumps(options), str(vectors[0])),
    )
    scores = db.rows(
        "SELECT place, score FROM rerank_passages(%s, %s)", QUERY, [text for _, text in passages]
    )
    options["rerank_scores"] = {str(passages[place - 1][0]): score for place, score in scores}
    before = model_provider.requests
    found = search(db, columns, options, query_embedding=str(vectors[0]))
    assert model_provider.requests == before
    assert [row[0] for row in found] == [row[0] for row in expected]
    for row, other in zip(found, expected, strict=True):
        assert row[1] == pytest.approx(other[1], abs=1e-6)
        assert row[2] == other[2]
        assert row[3].keys() == other[3].keys()


def test_embeddings_that_do_not_match_their_texts(db: Database) -> None:
    expansion = {"vectorQueries": ["a", "b"], "embeddings": [[1, 2]]}
    error = db.error(
        "SELECT * FROM hybrid_search(%s, options => %s)",
        QUERY,
        json.dumps({**WEAK, "expansion": expansion}),
    )
    assert error.sqlstate == "22023"
    assert "1 embeddings for 2 texts" in str(error.message_primary)


def test_blending_is_the_profiles(db: Database) -> None:
    """S0: .75 of the raw sum and .25 of the reranker's score, to rank 3; .6 and .4 beyond."""
    rows = search(db, "source_key, score, arms", {"mode": "default"}, profile="gno_epic")
    told = {row[0]: row for row in rows}
    order = sorted(rows, key=lambda row: row[2]["fused"]["rank"])
    attainable = 2 / 61 + 0.1
    ceiling = 0.4 * attainable + 0.6
    for place, row in enumerate(order, 1):
        fused, rerank = (0.75, 0.25) if place <= 3 else (0.6, 0.4)
        blended = fused * row[2]["fused"]["score"] + rerank * row[2]["rerank"]["score"]
        assert told[row[0]][1] == pytest.approx(blended / ceiling)


def test_what_was_not_reranked_stays_below(db: Database) -> None:
    rows = search(db, "source_key, score, relevance, arms", {"rerank_depth": 2})
    seen = ["rerank" in row[3] for row in rows]
    assert seen == [True, True, False, False, False, False]
    assert [row[2] is None for row in rows] == [not one for one in seen]
    scores = [row[1] for row in rows]
    assert scores == sorted(scores, reverse=True)
    pages = [search(db, "source_key", {"rerank_depth": 2, "offset": n}) for n in range(6)]
    assert [page[0] for page in pages] == [row[:1] for row in rows]


def test_min_relevance_is_the_rerankers(db: Database) -> None:
    rows = search(db, "source_key, relevance", {"min_relevance": 0.5})
    assert {row[0] for row in rows} == {"question", "deploy"}
    assert all(row[1] >= 0.5 for row in rows)


def test_phrases_bind_variants_too(db: Database, model_provider: ModelProvider) -> None:
    rows = search(db, "source_key, arms", THOROUGH, query='deploy "the service"')
    assert {row[0] for row in rows} == {"deploy"}
    given = {**WEAK, "expansion": EXPANSION}  # the gateway would have put the phrase in
    rows = search(db, "source_key, arms", given, query='deploy "the service"')
    assert {row[0] for row in rows} == {"deploy"}
    assert not any("lexical_variant_1" in row[1] for row in rows)


def test_facets_ask_for_the_vector_alone(db: Database, model_provider: ModelProvider) -> None:
    db.rows(
        "SELECT * FROM search_facets(%s, '{$kind}', options => %s)", QUERY, json.dumps(THOROUGH)
    )
    assert asked(model_provider, "documents") == []
    assert asked(model_provider, "messages") == []


def test_without_models_a_mode_by_default_is_silent(db: Database) -> None:
    for name in ("expansion_model", "rerank_model"):
        db.rows("SELECT reset_setting(%s)", name)
    (details, degraded) = search(db, "details, degraded", {})[0]
    assert (details["not_run"], degraded) == ({"rerank": "no model is set for it"}, [])
    assert db.warnings() == []
    (degraded,) = search(db, "degraded", {"rerank": "on"})[0]
    assert degraded == ["rerank: no model is set for it. The mode fast does without"]
    assert len(db.warnings()) == 1
    error = db.error(
        "SELECT * FROM hybrid_search(%s, options => %s)", QUERY, '{"rerank": true, "strict": true}'
    )
    assert error.sqlstate == "PB010"
    assert db.error("SELECT expand_query('x')").sqlstate == "PB008"


def test_one_arm_is_reranked_where_the_call_says_so(db: Database) -> None:
    silent = db.rows("SELECT arms FROM lexical_search(%s)", QUERY)
    assert not any("rerank" in row[0] for row in silent)
    rows = db.rows("""SELECT arms FROM lexical_search(%s, options => '{"rerank": "on"}')""", QUERY)
    assert all("rerank" in row[0] for row in rows)


def test_read_only(db: Database) -> None:
    db.rows("SET TRANSACTION READ ONLY")
    assert search(db, "degraded", THOROUGH)[0] == ([],)


def test_diagnosis_knows_the_stages(db: Database) -> None:
    told = db.value(
        "SELECT search_diagnose(%s, 'wine', options => %s)", QUERY, json.dumps(THOROUGH)
    )
    findings = {stage["stage"]: stage["finding"] for stage in told["stages"]}
    assert findings["rerank"].startswith("Its place after rerank is ")
    assert findings["blend"].startswith("Its place after blend is ")
    assert not any("variant" in name for name in findings)
