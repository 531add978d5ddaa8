"""The plot of a search against a fake server: which stage does what, and what goes without."""

import json
from collections.abc import Sequence
from time import time
from typing import Any

import pytest

from pgblend.plpy.search.plan import Request
from pgblend.plpy.search.run import rank_passages
from support.fake_database import FailedError, FakeDatabase, StatementError
from support.fake_index import Chunk, lexical_answers

SETTINGS: dict[str, Any] = {
    "mode": "fast", "only_arm": None, "search_id": None, "not_run": {}, "strict": False,
    "stages": {"expand": False, "rerank": False}, "no_expansion": "by the mode",
    "no_rerank": "by the mode", "weights": {"lexical": 1, "vector": 1, "fuzzy": 0.5},
    "offset": 0, "after": {}, "over_fetch": {"factor": 0}, "candidate_depth": 50,
    "timeouts_ms": {"total": 60_000, "lexical": 60_000, "embed": 60_000, "rerank": 60_000},
    "k1": 1.2, "b": 0.75, "title_weight": 1, "heading_weight": 1, "lexical_method": "bm25",
    "language": None, "level": "chunk", "fuzzy": "on", "fuzzy_method": "vocabulary",
    "fusion": "convex", "normalization": {"method": "minmax"}, "rrf_k": 60,
    "feedback": {"passages": 0, "weight": 0.5}, "bonus": {"kind": "none"},
    "fused_scale": "attainable", "recency_half_life_days": None, "expansion": {}, "hyde": "list",
    "strong_signal": {"score": 0.85, "gap": 0.15, "center": 0, "scale": 0},
    "graph": {"weight": 0}, "dedup": "exact", "dedup_overlap": 0.5, "dedup_similarity": 0.9,
    "per_document": None, "mmr": {"lambda": 1, "pool": 50}, "min_score": 0,
    "min_relevance": None, "rerank_depth": 10, "rerank_scores": {},
    "blend": {"kind": "position", "rerank": 0.5, "fused": 0.3, "position": 0.2},
}  # fmt: skip
TEXTS = {1: "red fox", 2: "blue fox", 3: "red fox", 4: "wine"}
WORDS = {1: ["red", "fox"], 2: ["fox", "fox"], 3: ["red", *["and"] * 9]}
COSINES = {4: 0.9, 2: 0.8, 1: 0.1}


def columns(scores: dict[int, float]) -> dict[str, Any]:
    chunk_ids = list(scores)
    return {
        "chunk_ids": chunk_ids,
        "document_ids": [chunk_id * 10 for chunk_id in chunk_ids],
        "chunk_indexes": [0] * len(chunk_ids),
        "scores": list(scores.values()),
    }


def too_late(*_: object) -> Sequence[dict[str, Any]]:
    raise StatementError("PB009")


ANSWERS = {
    **lexical_answers({one: Chunk(one * 10, words) for one, words in WORDS.items()}),
    "_vector_arm(": lambda *_: [columns(COSINES)],
    "_is_named(": lambda *_: [{"found": True}],
    "_degrade(": lambda stage, problem, *_: [{"notes": [f"{stage}: {problem}"]}],
    "_asking_role()": lambda _: [{"role": "ann", "names": ["c"], "most_ms": 1e9}],
    "c.content = ANY": lambda *_: [],
    "SELECT c.id, c.content": lambda ids: [
        {"id": one, "content": TEXTS[one], "text_search_config": "english",
         "start_offset": 0, "end_offset": 9}
        for one in ids
    ],
    "1 - (e.embedding": lambda ids, _: [{"chunk_id": one, "value": 0.5} for one in ids],
    "e.embedding::text": lambda ids: [
        {"chunk_id": one, "value": f"[{one == 4:d}, {one != 4:d}, 0.1]"} for one in ids
    ],
    "ts_headline": lambda _, __, texts, ___: [{"marked": texts}],
}  # fmt: skip


def search(
    *, limit: int = 3, traced: str = "none", answers: dict[str, Any] | None = None, **options: Any
) -> tuple[FakeDatabase, dict[str, Any]]:
    db = FakeDatabase({**(answers or {}), **ANSWERS, **(answers or {})})  # theirs come first
    settings = json.dumps(SETTINGS | options)
    request = Request("red fox", limit, "[1]", "space", [1], None, settings, time(), traced)
    return db, rank_passages(db, request)


def names(stages: list[dict[str, Any]], *, done: bool) -> list[str]:
    return [stage["name"] for stage in stages if ("skipped" in stage) is not done]


def test_a_page_of_two_arms() -> None:
    db, page = search()
    assert page["chunk_ids"] == [2, 1, 4]  # 3 repeats 1
    assert page["ranks"] == [1, 2, 3]
    assert page["scores"] == sorted(page["scores"], reverse=True)
    assert page["relevances"] == [0.8, 0.1, 0.9]
    assert page["snippets"] == ["blue fox", "red fox", "wine"]
    assert page["candidate_count"] == 4
    assert page["degraded"] == []
    assert page["trace"] is None
    arms = json.loads(page["arms"])
    found = {"rank": 2, "score": pytest.approx(0.77, abs=0.001)}
    assert arms[0] == {
        "lexical": found,
        "vector": {"rank": 2, "score": 0.8},
        "fuzzy": found | {"method": "vocabulary"},
    }
    details = json.loads(page["details"])[0]
    assert details["relevance_basis"] == "cosine"
    assert details["cursor"]["document_id"] == 20
    assert db.warnings == []


def test_the_stages_are_told_in_their_order() -> None:
    _, page = search(traced="page")
    stages = json.loads(page["trace"])["stages"]
    assert names(stages, done=True) == [
        *("warm_up", "lexical", "fuzzy", "strong_signal", "vector", "fuse", "dedup", "page"),
    ]
    assert names(stages, done=False) == ["expand", "embed", "graph", "rerank", "blend", "mmr"]
    dedup = next(stage for stage in stages if stage["name"] == "dedup")
    assert dedup["details"] == {"looked_at": 4, "dropped": 1}


def test_a_session_warms_up_once() -> None:
    db, _ = search(traced="page")
    request = Request("x", 1, None, None, [1], None, json.dumps(SETTINGS), time(), "page")
    second = json.loads(rank_passages(db, request)["trace"])
    assert "warm_up" not in names(second["stages"], done=True)


def test_the_pool_tells_why_a_candidate_is_not_there() -> None:
    _, page = search(traced="pool")
    dropped = {
        row["chunk_id"]: row["dropped"]["reason"]
        for row in json.loads(page["trace"])["candidates"]
        if "dropped" in row
    }
    assert set(dropped) == {3}


def test_scores_that_are_given_rerank() -> None:
    given = {"4": 1.0, "2": 0.1, "1": 0.0}
    stages = {"expand": False, "rerank": True}
    _, page = search(stages=stages, rerank_scores=given, traced="page", fused_scale="reached")
    assert page["chunk_ids"][0] == 4
    assert page["relevances"][0] == 1.0
    assert json.loads(page["arms"])[0].keys() == {"vector", "rerank", "fused"}
    assert json.loads(page["details"])[0]["relevance_basis"] == "rerank"
    done = names(json.loads(page["trace"])["stages"], done=True)
    assert done[-4:] == ["dedup", "rerank", "blend", "page"]


def test_what_a_reranker_would_read() -> None:
    stages = {"expand": False, "rerank": True}
    _, page = search(stages=stages, traced="rerank")
    passages = json.loads(page["trace"])["passages"]
    assert [row["passage"] for row in passages] == ["blue fox", "red fox", "wine"]


def test_diversity_reorders() -> None:
    _, plain = search()
    _, diverse = search(mmr={"lambda": 0.1, "pool": 50}, traced="page")
    assert sorted(diverse["chunk_ids"]) == sorted(plain["chunk_ids"])
    assert "mmr" in names(json.loads(diverse["trace"])["stages"], done=True)


def test_documents_are_shown_once_and_age() -> None:
    ages = {"_document_ages(": lambda ids: [{"ages": [1.0] * len(ids)}]}
    _, page = search(level="document", recency_half_life_days=1, answers=ages)
    assert json.loads(page["details"])[0]["recency"] == 0.5


def test_a_list_whose_time_is_over_is_left_out_and_named() -> None:
    db, page = search(answers={"v.lexeme BETWEEN": too_late})
    assert page["degraded"] == ["fuzzy: the time limit of fuzzy is over"]
    assert "handed" not in str(db.session.keys())


@pytest.mark.parametrize(
    ("answers", "options"),
    [
        ({"dead_digest": too_late}, {}),
        ({"v.lexeme BETWEEN": too_late}, {"strict": True}),
    ],
)
def test_words_that_are_too_late_end_the_search(answers: Any, options: Any) -> None:
    with pytest.raises(StatementError, match="PB009"):
        search(answers=answers, **options)


def test_vectors_that_fail() -> None:
    outcome = {"problem": "no gateway", "hint": "Start one."}
    sent = {"_request_model(": lambda *_: [{"sent": json.dumps(outcome)}]}
    db = FakeDatabase({**ANSWERS, **sent})
    request = Request("red_fox", 3, None, "space", [1], None, json.dumps(SETTINGS), time(), "none")
    page = rank_passages(db, request)
    assert page["degraded"] == ["vector: no gateway"]
    assert json.loads(page["details"])[0]["relevance_basis"] is None
    alone = json.dumps(SETTINGS | {"only_arm": "vector"})
    with pytest.raises(FailedError, match="VECTORS_UNAVAILABLE: no gateway") as failed:
        rank_passages(db, Request("x", 3, None, "space", [1], None, alone, time(), "none"))
    assert failed.value.sqlstate == "PB008"


@pytest.mark.parametrize(
    ("embedding", "degraded"),
    [([1.0, 0.0], []), (["a", 0], ["vector: "])],
)
def test_vectors_of_the_gateway(embedding: list[Any], degraded: list[str]) -> None:
    class Call:
        def answer(self) -> dict[str, Any]:
            return {"answer": {"data": [{"embedding": embedding}]}}

        def abandon(self) -> None: ...

    space = {"name": "space", "model": "m", "dimensions": 2}
    db = FakeDatabase({
        "_request_model(": lambda *_: [{"sent": '{"call": "1"}'}],
        "FROM pgblend_data.embedding_space AS s WHERE s.name = $1": lambda _: [space],
        **ANSWERS,
    })  # fmt: skip
    # The vectors' arm names the space within its own statement.
    db.answers = {"_vector_arm(": ANSWERS["_vector_arm("], **db.answers}
    db.kept("calls")["1"] = Call()
    settings = json.dumps(SETTINGS)
    page = rank_passages(db, Request("fox", 3, None, "space", [1], None, settings, time(), "none"))
    assert [note[: len("vector: ")] for note in page["degraded"]] == degraded
    assert db.kept("calls") == {}


def test_words_that_found_nothing_are_named() -> None:
    _, page = search(words_found=False)
    assert page["degraded"] == ["lexical: no passage was found by its words"]


def test_a_page_behind_a_row_and_beyond_the_depth() -> None:
    _, first = search(limit=1)
    cursor = json.loads(first["details"])[0]["cursor"]
    db, second = search(limit=60, after=cursor)
    assert second["chunk_ids"] == [1, 4]
    assert second["ranks"] == [2, 3]
    assert db.warnings == [
        "rows beyond candidate_depth (50) are not found: offset 1 + limit 60 asks for more"
        " | Raise the option candidate_depth and begin again without after."
    ]


def test_a_row_that_is_gone_has_no_place_among_diverse_ones() -> None:
    gone = {"score": 0.5, "document_id": 99, "chunk_index": 0}
    with pytest.raises(FailedError, match="no longer found") as failed:
        search(after=gone, mmr={"lambda": 0.1, "pool": 50})
    assert failed.value.sqlstate == "22023"


def test_an_after_that_is_not_whole() -> None:
    with pytest.raises(FailedError, match="expected score, document_id and chunk_index"):
        search(after={"score": 1})


def test_an_expansion_that_does_not_fit() -> None:
    given = {"lexicalQueries": [], "vectorQueries": ["a"], "hyde": None, "embeddings": [[1], [2]]}
    with pytest.raises(FailedError, match="2 embeddings for 1 texts") as failed:
        search(expansion=given, stages={"expand": True, "rerank": False})
    assert failed.value.hint == "expand_query gives the texts."


def test_a_logged_search_is_noted_once() -> None:
    db, page = search(search_id="s-1")
    noted = db.kept("searched")["s-1"]
    assert (noted["role"], noted["query"], noted["collections"]) == ("ann", "red fox", ["c"])
    assert "page" in [stage["name"] for stage in noted["stages"]]
    assert json.loads(page["details"])[0]["search_id"] == "s-1"
    assert set(json.loads(page["trace"])) == {"stages", "end_ms"}


def test_feedback_moves_the_vector() -> None:
    ids = [1, 2, 4]
    moved = {"WITH moved AS": lambda *_: [
        {"chunk_ids": ids, "own": [0.1, 0.8, 0.9], "moved": [0.95, 0.9, 0.2]}]}  # fmt: skip
    _, page = search(
        feedback={"passages": 1, "weight": 0.5}, answers=moved, traced="page", dedup="off"
    )
    stages = {stage["name"]: stage for stage in json.loads(page["trace"])["stages"]}
    assert stages["fuse"]["details"] == {"feedback": [2]}
    assert stages["dedup"] == {"name": "dedup", "skipped": "by the setting dedup"}
    assert 3 in search(dedup="off", limit=4)[1]["chunk_ids"]


def test_copies_are_named() -> None:
    about = {"document_id": 30, "collection": "c", "source_key": "k", "uri": None, "title": ""}
    holders = {"c.content = ANY": lambda *_: [{"chunk_id": 3, "content": "red fox", **about}]}
    _, page = search(answers=holders)
    assert [row.get("copies") for row in json.loads(page["details"])] == [None, [about], None]
