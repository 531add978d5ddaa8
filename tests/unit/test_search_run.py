"""The plot of a search against a fake server: which stage does what, and what goes without."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.search.bridge import BridgedNode
from pgblend.plpy.search.call import search
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.pool import Row
from pgblend.plpy.search.query import Tries
from support.fake_database import Answer, FakeDatabase, StatementError
from support.fake_search import ANSWERS, HELD, SPACE, TEXTS, asked, failing, passage, state


class Page:
    """What a search gave."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.rows: list[Row] = found["results"]
        self.trace = json.loads(found["trace"] or "null")
        self.report = json.loads(found["report"] or "null")
        self.ids = [row.chunk_id for row in self.rows]
        self.arms = [json.loads(row.arms) for row in self.rows]
        self.details = [json.loads(row.details) for row in self.rows]
        self.degraded = list(self.rows[0].degraded) if self.rows else []


def found(
    answers: dict[str, Any] | None = None, query: str | None = "red fox", **more: Any
) -> tuple[FakeDatabase, Page]:
    mine = answers or {}
    db = FakeDatabase({**mine, **state(), **ANSWERS, **mine})  # theirs come first
    return db, Page(search(db, asked(query, **more), StoreNode(db)))


def names(stages: list[dict[str, Any]], *, done: bool) -> list[str]:
    return [stage["name"] for stage in stages if ("skipped" in stage) is not done]


def test_a_page_of_two_arms() -> None:
    db, page = found()
    assert page.ids == [2, 1, 4]  # 3 repeats 1
    assert [row.rank for row in page.rows] == [1, 2, 3]
    scores = [row.score for row in page.rows]
    assert scores == sorted(scores, reverse=True)
    assert [row.relevance for row in page.rows] == [0.8, 0.1, 0.9]
    assert [row.snippet for row in page.rows] == [
        "blue <mark>fox</mark>",
        "<mark>red</mark> <mark>fox</mark>",
        "wine",
    ]
    assert page.rows[0].source_key == "2"
    assert (page.degraded, page.trace, page.report) == ([], None, None)
    hit = {"rank": 2, "score": pytest.approx(0.77, abs=0.001)}
    assert page.arms[0] == {
        "lexical": hit,
        "vector": {"rank": 2, "score": 0.8},
        "fuzzy": hit | {"method": "vocabulary"},
    }
    assert page.details[0]["relevance_basis"] == "cosine"
    assert page.details[0]["cursor"]["document_id"] == 20
    assert db.warnings == []
    name, role, told = db.session["pgblend_last_search"]
    assert (role, told["candidates"], bool(name)) == ("ann", 4, True)


def test_a_passage_that_is_gone_gives_no_row() -> None:
    gone = {"c.start_line": lambda ids, _: [passage(one) for one in ids if one != 1]}
    _, page = found(gone, dedup="off")
    assert [(row.rank, row.chunk_id) for row in page.rows] == [(1, 2), (3, 4)]


def test_the_stages_are_told_in_their_order() -> None:
    _, page = found(traced="page", limit=4)
    stages = page.trace["stages"]
    assert names(stages, done=True) == [
        *("warm_up", "lexical", "fuzzy", "strong_signal", "vector", "fuse", "dedup", "page"),
        "fetch",
    ]
    assert names(stages, done=False) == ["expand", "embed", "graph", "rerank", "blend", "mmr"]
    dedup = next(stage for stage in stages if stage["name"] == "dedup")
    assert dedup["details"] == {"looked_at": 4, "dropped": 1}
    assert page.trace["meta"]["mode"] == "hybrid"
    assert page.trace["settings"]["k1"] == {"value": 1.2, "source": "default"}
    assert page.trace["settings"]["weights"]["source"] == "call"
    assert [row["chunk_id"] for row in page.trace["results"]] == page.ids


def test_a_session_warms_up_once() -> None:
    db, _ = found(traced="page")
    second = Page(
        search(
            db,
            asked("x", limit=1, vector=None, weights={"vector": 0}, traced="page"),
            StoreNode(db),
        )
    )
    assert "warm_up" not in names(second.trace["stages"], done=True)


def test_the_pool_tells_why_a_candidate_is_not_there() -> None:
    _, page = found(traced="pool")
    dropped = {
        row["chunk_id"]: row["dropped"]["reason"]
        for row in page.trace["candidates"]
        if "dropped" in row
    }
    assert set(dropped) == {3}


def test_scores_that_are_given_rerank() -> None:
    given = {"4": 1.0, "2": 0.1, "1": 0.0}
    _, page = found(rerank_scores=given, traced="page", fused_scale="minmax")
    assert page.ids[0] == 4
    assert page.rows[0].relevance == 1.0
    assert page.arms[0].keys() == {"vector", "rerank", "fused"}
    assert page.details[0]["relevance_basis"] == "rerank"
    done = names(page.trace["stages"], done=True)
    assert done[-5:] == ["dedup", "rerank", "blend", "page", "fetch"]


def test_what_a_reranker_would_read() -> None:
    _, page = found(traced="rerank")
    assert [row["passage"] for row in page.trace["passages"]] == ["blue fox", "red fox", "wine"]


def test_diversity_reorders() -> None:
    _, plain = found()
    _, diverse = found(mmr={"lambda": 0.1, "pool": 50}, traced="page")
    assert sorted(diverse.ids) == sorted(plain.ids)
    assert "mmr" in names(diverse.trace["stages"], done=True)


def test_documents_are_shown_once_and_age() -> None:
    ages = {"_passage_ages(": lambda ids: [{"ages": [1.0] * len(ids)}]}
    _, page = found(ages, level="document", recency_half_life_days=1)
    assert page.details[0]["recency"] == 0.5


def test_a_list_whose_time_is_over_is_left_out_and_named() -> None:
    _, page = found({"v.lexeme BETWEEN": failing("PB009")}, "red foxx")
    assert page.degraded == [
        "fuzzy: the time limit of fuzzy is over. Raise timeouts_ms, key lexical."
    ]


def test_words_that_are_too_late_are_left_to_the_vectors() -> None:
    db, page = found({"dead_digest": failing("PB009", "Raise it.")})
    assert page.ids == [4, 2, 1]
    assert page.degraded == ["lexical: PB009. Raise it."]
    assert db.session["pgblend_last_search"][2]["candidates"] is None
    assert "v.lexeme BETWEEN" not in db.asked


@pytest.mark.parametrize("arm", ["dead_digest", "v.lexeme BETWEEN"])
def test_words_that_are_too_late_end_a_strict_search(arm: str) -> None:
    with pytest.raises(StatementError, match="PB009"):
        found({arm: failing("PB009")}, "red foxx", strict=True)


def test_an_index_that_is_not_there_may_be_by_another_snapshot() -> None:
    missing = {"dead_digest": failing("PB002", "Make it.")}
    again = []
    request = asked()
    for building in (False, True, True):
        answers = {"_is_building(": lambda _, now=building: [{"found": now}]}
        db = FakeDatabase({**missing, **answers, **state(), **ANSWERS, **missing, **answers})
        with pytest.raises(ProgramError) as failed:
            search(db, request, StoreNode(db))
        assert failed.value.sqlstate == "PB012"
        again.append(failed.value.detail)
        request = request._replace(tries=Tries.read(again[-1]))
    pauses = [(told["pause_s"], told["status"]) for told in map(json.loads, again)]
    assert pauses == [(0.0, "uninitialized"), (0.05, "building"), (0.1, "building")]
    with pytest.raises(StatementError, match="PB002"):  # nor is what there is to be read
        search(db, request, StoreNode(db))


def once(error: StatementError) -> Answer:
    """Return what ends with an error the first time, then says what the index has."""
    errors = [error]

    def answer(*values: Any) -> Sequence[dict[str, Any]]:
        if errors:
            raise errors.pop()
        return ANSWERS["dead_digest"](*values)

    return answer


def test_what_there_is_of_an_index_is_searched() -> None:
    missing = {"dead_digest": once(StatementError("PB002", "Make it."))}
    db = FakeDatabase({**missing, **state(log_address="x"), **ANSWERS, **missing})
    page = Page(
        search(db, asked()._replace(tries=Tries(attempts=2, looked_again=True)), StoreNode(db))
    )
    assert page.degraded == ["lexical: PB002. Make it."]
    assert (page.report["trace"]["bm25_status"], page.report["trace"]["attempts"]) == (
        "uninitialized", 3
    )  # fmt: skip
    assert page.ids == [2, 1, 4]


def test_a_damaged_index_is_left_out() -> None:
    left: list[Any] = []
    damaged: Any = {
        "dead_digest": once(StatementError("PB002", "Make it anew.", table="c")),
        "c.name <> ALL": lambda *values: left.append(values) or [{"ids": [1]}],
    }
    _, page = found(damaged)
    assert page.degraded == ["lexical: PB002. Make it anew."]
    assert left == [([1], ["c"])]
    assert page.ids == [2, 1, 4]


def test_vectors_that_fail() -> None:
    outcome = {"problem": "no gateway", "hint": "Start one."}
    sent = {"_request_model(": lambda *_: [{"sent": json.dumps(outcome)}]}
    _, page = found(sent, "red_fox", vector=None)
    assert page.degraded == ["vector: no gateway. Start one."]
    assert page.details[0]["relevance_basis"] is None
    with pytest.raises(ProgramError, match="VECTORS_UNAVAILABLE: no gateway") as failed:
        found(
            {**sent, "LIMIT 1": lambda *_: [{**HELD, "has_vectors": True}]},
            vector=None,
            only_arm="vector",
        )
    assert failed.value.sqlstate == "PB008"


@pytest.mark.parametrize(
    ("embedding", "degraded"),
    [([1.0], []), (["a"], ["vector: "]), ([1.0, 0.0], ["vector: "])],
)
def test_vectors_of_the_gateway(embedding: list[Any], degraded: list[str]) -> None:
    class Call:
        def answer(self) -> dict[str, Any]:
            return {"answer": {"data": [{"embedding": embedding}]}}

        def abandon(self) -> None: ...

    sent = {"_request_model(": lambda *_: [{"sent": '{"call": "1"}'}]}
    db = FakeDatabase({**sent, **state(), **ANSWERS})
    db.kept("calls")["1"] = Call()
    page = Page(search(db, asked("fox", vector=None), StoreNode(db)))
    assert [note[: len("vector: ")] for note in page.degraded] == degraded
    assert db.kept("calls") == {}


def test_words_that_found_nothing_are_left_to_the_vectors() -> None:
    nowhere: Any = {
        "LIMIT 1": lambda *_: [{**HELD, "has_vectors": True}],
        "_request_model(": lambda *_: [{"sent": '{"problem": "no gateway", "hint": "Start one."}'}],
    }
    db, page = found(nowhere, "zzz", only_arm="lexical", vector=None)
    assert page.rows == []  # no gateway gives the query's vector
    assert [note.partition(":")[0] for note in json.loads(last(db))["degraded"]] == ["vector"]


def last(db: FakeDatabase) -> str:
    return json.dumps(db.session["pgblend_last_search"][2])


def test_nearest_by_vectors_say_so() -> None:
    class Call:
        def answer(self) -> dict[str, Any]:
            return {"answer": {"data": [{"embedding": [1.0]}]}}

        def abandon(self) -> None: ...

    nowhere: Any = {
        "LIMIT 1": lambda *_: [{**HELD, "has_vectors": True}],
        "_request_model(": lambda *_: [{"sent": '{"call": "1"}'}],
        "FROM pgblend_data.chunk AS c WHERE c.collection_id": lambda _: [{"found": True}],
    }
    db = FakeDatabase({**nowhere, **state(log_address="x"), **ANSWERS, **nowhere})
    db.kept("calls")["1"] = Call()
    page = Page(search(db, asked("zzz", vector=None, only_arm="lexical"), StoreNode(db)))
    assert page.ids == [4, 2, 1]
    assert page.degraded[0].startswith("lexical: no passage was found by its words.")
    assert page.report["trace"]["fallback_used"] is True
    assert (page.report["trace"]["bm25_len"], page.report["trace"]["dense_len"]) == (0, 3)


@pytest.mark.parametrize(
    ("space", "words_bind"), [(None, False), (SPACE, True)], ids=["no space", "operators"]
)
def test_vectors_do_not_always_stand_in(space: Any, words_bind: bool) -> None:
    operands = [{"place": 0, "operand": "'zzz'"}] if words_bind else []
    nowhere: Any = {
        "LIMIT 1": lambda *_: [{**HELD, "has_vectors": True}],
        "_query_operands(": lambda *_: operands,
        "_query_condition(": lambda *_: [{"condition": "!'zzz'"}],
        "_documents_decide(": lambda *_: [{"documents_decide": False, "documents_read": 0}],
        "int8send(c.id)": lambda *_: [{"ids": None}],
    }
    db = FakeDatabase({**nowhere, **state(space), **ANSWERS, **nowhere})
    assert Page(search(db, asked("-zzz", only_arm="lexical"), StoreNode(db))).rows == []


def test_a_page_behind_a_row_and_beyond_the_depth() -> None:
    _, first = found(limit=1)
    db, second = found(limit=60, after=first.details[0]["cursor"])
    assert second.ids == [1, 4]
    assert [row.rank for row in second.rows] == [2, 3]
    assert db.warnings == [
        "rows beyond candidate_depth (50) are not found: offset 1 + limit 60 asks for more"
        " | Raise the option candidate_depth and begin again without after."
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"after": {"score": 1}}, "expected score, document_id and chunk_index"),
        ({"after": {"depth": 1.5}}, "expected a whole number from 1 to 10000"),
        ({"after": {"depth": 7}}, 'but "after" is of pages of depth 7'),
        ({"weights": {"lexical": 0, "vector": 0, "fuzzy": 0}}, "are all 0"),
        ({"k1": -1}, '"k1" is -1'),
        ({"space": "other"}, 'no embedding space "other"'),
        (
            {"after": {"score": 0.5, "document_id": 99, "chunk_index": 0}, "mmr": {"lambda": 0.1}},
            "no longer found",
        ),
    ],
)
def test_options_that_are_wrong(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgramError, match=message) as failed:
        found(**options)
    assert failed.value.sqlstate == "22023"


@pytest.mark.parametrize(
    ("vector", "message"), [("[1,2]", "has 2 dimensions"), ("[0]", "is the zero vector")]
)
def test_vectors_that_cannot_be_compared(vector: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        found(vector=vector)


def test_an_expansion_that_does_not_fit() -> None:
    given = {"lexicalQueries": [], "vectorQueries": ["a"], "hyde": None, "embeddings": [[1], [2]]}
    with pytest.raises(ProgramError, match="2 embeddings for 1 texts") as failed:
        found(expansion=given)
    assert failed.value.hint == "expand_query gives the texts."


def test_a_logged_search_is_noted_and_reported() -> None:
    db, page = found(state(log_address="localhost:1"), limit=4)
    assert page.details[0]["search_id"] == page.report["search_id"]
    noted = db.kept("searched")[page.report["search_id"]]
    assert (noted.role, noted.query, noted.collections) == ("ann", "red fox", ["c"])
    assert noted.stages[-1]["name"] == "fetch"
    assert [row["chunk_id"] for row in page.report["results"]] == page.ids
    assert page.report["trace"]["strategy"] == "hybrid"
    assert page.report["trace"]["dedup_ratio"] == 0.25


def test_feedback_moves_the_vector() -> None:
    cosines = {1: 0.95, 2: 0.9, 4: 0.2}
    moved = {
        "l2_normalize($1)": lambda *_: [{"vector": "[2]"}],
        "1 - (e.embedding": lambda ids, vector: [
            {"chunk_id": one, "value": cosines[one] if vector == "[2]" else 0.1}
            for one in ids if one in cosines],
    }  # fmt: skip
    feedback = {"passages": 1, "weight": 0.5}
    _, page = found(moved, feedback=feedback, traced="page", dedup="off")
    stages = {stage["name"]: stage for stage in page.trace["stages"]}
    assert stages["fuse"]["details"] == {"feedback": [2]}
    assert stages["dedup"] == {"name": "dedup", "skipped": "by the setting dedup"}
    assert 3 in found(dedup="off", limit=4)[1].ids


def test_copies_are_named() -> None:
    about = {"document_id": 30, "collection": "c", "source_key": "k", "uri": None, "title": ""}
    holders = {"c.content = ANY": lambda *_: [{"chunk_id": 3, "content": "red fox", **about}]}
    _, page = found(holders)
    assert [row.get("copies") for row in page.details] == [None, [about], None]


def test_copies_of_texts_that_stand_once_are_not_looked_for() -> None:
    once = {"c.start_line": lambda ids, _: [passage(one) | {"may_repeat": False} for one in ids]}
    assert "c.content = ANY" in found()[0].asked
    assert "c.content = ANY" not in found(once)[0].asked


@pytest.mark.parametrize(
    ("settings", "collections"),
    [
        *(({}, [1]), ({"dedup": "off"}, [])),
        *(({"columns": ["arms", "details"]}, [1]), ({"columns": ["arms"]}, [])),
    ],
)
def test_texts_are_compared_with_others_where_details_name_copies(
    settings: dict[str, Any], collections: list[int]
) -> None:
    asked_in = []

    def rows(ids: Sequence[int], others_in: Sequence[int]) -> list[dict[str, Any]]:
        asked_in.append([*others_in])
        return [passage(one) for one in ids]

    db = FakeDatabase({**state(), **ANSWERS, "c.start_line": rows})
    search(db, asked(**settings), StoreNode(db))
    assert asked_in
    assert all(one == collections for one in asked_in)


def test_a_blank_query_asks_for_nothing() -> None:
    db, page = found(query=" ", traced="page")
    assert (page.rows, page.trace["stages"]) == ([], [{**page.trace["stages"][0]}])
    assert db.asked == ["searched AS MATERIALIZED"]


def test_what_a_search_is_without_is_named() -> None:
    _, page = found(state(None))
    assert page.degraded[0].startswith("vector: no embedding space yet. ")
    waiting = {"LIMIT 0": lambda *_: [{**HELD, "is_waiting": True}]}
    assert found(waiting)[1].degraded[0].startswith("vector: some passages have no vector yet")
    no_models = state(expansion_model=None, rerank_model=None)
    thorough = found(no_models, mode="thorough")[1]
    assert [note.partition(":")[0] for note in thorough.degraded] == ["expand", "rerank"]
    assert thorough.details[0]["not_run"].keys() == {"expand", "rerank"}


@pytest.mark.parametrize("behind", [None, 0, 5])
def test_a_standby_that_is_behind_is_named(behind: int | None) -> None:
    _, page = found({"pg_wal_lsn_diff": lambda _: [{"behind": behind}]}, wait_for="0/1")
    told = [note for note in page.degraded if note.startswith("replica: ")]
    assert len(told) == bool(behind)
    assert all("this standby is 5 bytes of the log behind 0/1" in note for note in told)


@pytest.mark.parametrize(
    "held", [failing("42P01"), lambda *_: [{**HELD, "table_id": 2}]], ids=["dropped", "made anew"]
)
def test_a_space_that_was_dropped_meanwhile(held: Answer) -> None:
    with pytest.raises(ProgramError, match="was dropped meanwhile") as failed:
        found({"LIMIT 0": held})
    assert failed.value.sqlstate == "40001"


def test_a_space_that_still_answers_for_another_was_dropped_meanwhile() -> None:
    newer = {**SPACE, "name": "newer", "table_name": "embedding_newer", "bridged_from": "space"}
    (row,) = state()["searched AS MATERIALIZED"]()
    held = {"is_waiting": True, "has_vectors": True}
    db = FakeDatabase(
        {
            "searched AS MATERIALIZED": lambda *_: [
                row | {"spaces": [json.dumps(newer), json.dumps({**SPACE, "is_active": False})]}
            ],
            "embedding_newer": lambda *_: [{**HELD, **held}],
            "embedding_space": lambda *_: [{**HELD, **held, "table_id": 2}],
            **ANSWERS,
        }
    )
    with pytest.raises(ProgramError, match='"newer" was dropped meanwhile'):
        search(db, asked(), BridgedNode(db))


@pytest.mark.parametrize(
    ("only_arm", "space", "message"),
    [("vector", None, "no embedding space yet"), ("vector", SPACE, "no passage searched has")],
)
def test_vectors_that_are_needed(only_arm: str, space: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=f"VECTORS_UNAVAILABLE: {message}"):
        found({**state(space), "LIMIT 1": lambda *_: [HELD]}, only_arm=only_arm)


def test_a_role_without_any_grant() -> None:
    row = state()["searched AS MATERIALIZED"]()[0] | {"ids": [], "names": []}
    none: Any = {
        "searched AS MATERIALIZED": lambda *_: [row],
        "pg_has_role": lambda: [{"found": False}],
        "format('%I'": lambda name: [{"i": name, "l": f"'{name}'"}],
    }
    db, _ = found(none)
    assert db.warnings[0].startswith("role ann may read no collection | A member of pgblend_admin")
    for options, sqlstate in (({"strict": True}, "42501"), ({"only_arm": "vector"}, "PB001")):
        with pytest.raises(ProgramError, match="may read no collection") as failed:
            found(none, **options)
        assert failed.value.sqlstate == sqlstate


def test_dates_are_a_filter() -> None:
    asked_for: list[Any] = []
    answers: Any = {
        "_joined_filter(": lambda *values: asked_for.append(values) or [{"filter": None}],
        "_iso_timestamp(": lambda _: [{"found": True}],
    }
    found(answers, since="2026-01-01")
    assert asked_for == [(None, '{"since": "2026-01-01", "until": null, "tenant": null}', [])]


def test_text_around_the_passages() -> None:
    chunk = {"own_start": 0, "start_offset": None, "end_offset": None, "start_line": 1,
             "end_line": 1}  # fmt: skip
    chunks = [
        {**chunk, "chunk_id": one, "document_id": one * 10, "chunk_index": 0, "content": TEXTS[one]}
        for one in TEXTS
    ]
    around = {"_chunks_around(": lambda *_: [{"chunks": json.dumps(chunks)}]}
    _, page = found(around, context_chars={"before": 10, "after": 0})
    assert [(row.context_before, row.context_after) for row in page.rows] == [("", None)] * 3
