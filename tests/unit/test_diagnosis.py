"""What is said of a document's way through a search: the cases that a small database lacks."""

from typing import Any

import pytest

from pgblend.plpy.search.diagnosis import diagnose_arms, diagnose_conditions, diagnose_places


def arm(rank: int | None, is_candidate: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "ran": True,
        "rank": rank,
        "score": 0.5,
        "measure": "cosine",
        "cut": 0.25,
        "candidates": 100,
        "is_candidate": is_candidate,
        "lacking": [],
        "waiting": 0,
    } | more


def arms(candidates: int = 0, depth: int = 100, **of: dict[str, Any]) -> dict[str, Any]:
    return {
        "arms": of,
        "candidates": [{}] * candidates,
        "settings": {"candidate_depth": depth},
    }


def places(names: list[str], *candidates: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {
        "arms": {"lexical": {}},
        "stages": [{"name": name} for name in ("embed", "lexical", *names, "page", "fetch")],
        "candidates": [{"chunk_id": 1, "score": 0.5} | candidate for candidate in candidates],
        "start": 0,
        "result_limit": 10,
        "settings": {"candidate_depth": 100, "min_score": 0, "min_relevance": None} | settings,
    }


def test_an_approximate_index_missed_it() -> None:
    findings, verdict, suggestion = diagnose_arms(arms(lexical=arm(None), vector=arm(7)))
    assert findings[1]["finding"] == (
        "Its rank by vectors is 7 (cosine 0.5), but the approximate index missed it."
    )
    assert verdict == (
        "No arm has it among its candidates: the query has no words that count. Its rank by"
        " vectors is 7 (cosine 0.5), but the approximate index missed it."
    )
    assert suggestion == "Set vector_scan to exact, or raise ef_search."


@pytest.mark.parametrize(
    ("rank", "suggestion"),
    [
        (101, "Raise candidate_depth to 101."),
        (10_000, "Raise candidate_depth to 10000."),
        (10_001, "candidate_depth is at most 10000: narrow the search down with a filter."),
    ],
)
def test_ranks_beyond_the_cut(rank: int, suggestion: str) -> None:
    findings, verdict, told = diagnose_arms(arms(lexical=arm(None), vector=arm(rank)))
    assert findings[1]["passed"] is False
    assert "beyond candidate_depth 100 (cosine 0.25)" in str(verdict)
    assert told == suggestion


def test_an_arm_that_gave_nothing_has_no_cut() -> None:
    findings, _, _ = diagnose_arms(arms(vector=arm(101, cut=None)))
    assert findings[0]["finding"].endswith("beyond candidate_depth 100.")


def test_profiles_that_fetch_by_the_limit() -> None:
    facts = arms(lexical=arm(30, candidates=20))
    facts["settings"]["over_fetch"] = {"factor": 2}
    findings, _, suggestion = diagnose_arms(facts)
    assert findings[0]["finding"] == (
        "Its rank by words is 30 (cosine 0.5), beyond the 20 candidates (cosine 0.25)."
    )
    assert suggestion == (
        "Ask for more results: this profile looks at a multiple of them (over_fetch)."
    )


def test_no_arm_ran() -> None:
    idle = {"ran": False, "reason": "it is off", "rank": None}
    findings, verdict, suggestion = diagnose_arms(arms(lexical=idle, vector=idle))
    assert [finding["passed"] for finding in findings] == [None, None, False]
    assert verdict == "No arm ran that could find it."
    assert suggestion == "Ask with words that it has."


def test_one_arm_is_enough() -> None:
    findings, verdict, suggestion = diagnose_arms(
        arms(candidates=1, lexical=arm(3, is_candidate=True), vector=arm(500))
    )
    assert [finding["passed"] for finding in findings] == [True, False]
    assert (verdict, suggestion) == (None, None)


def test_a_vector_that_has_no_direction() -> None:
    findings, _, _ = diagnose_arms(arms(vector=arm(None)))
    assert findings[0]["finding"] == "It has no vector."


@pytest.mark.parametrize(
    ("reason", "verdict", "suggestion"),
    [
        ("content", 'It has the same text as "Twin", which stands before it.',
         "Turn dedup off to keep it."),
        ("overlap", 'It overlaps with "Twin", which stands before it.',
         "Turn dedup off to keep it."),
        ("similar", 'It says nearly the same as "Twin", which stands before it.',
         "Turn dedup off to keep it."),
        ("per_document", "Better passages of its document fill per_document.",
         "Raise per_document, or leave it out."),
    ],
)  # fmt: skip
def test_what_dedup_dropped(reason: str, verdict: str, suggestion: str) -> None:
    dropped = {"stage": "dedup", "reason": reason, "of": "Twin {x} {0}"}
    findings, told, advice = diagnose_places(
        places(["fuse", "dedup", "rerank"], {"places": {"fuse": 3}, "dropped": dropped})
    )
    assert [(f["stage"], f["passed"]) for f in findings] == [("fuse", True), ("dedup", False)]
    assert told == verdict.replace("Twin", "Twin {x} {0}")
    assert advice == suggestion
    assert findings[-1]["details"] == dropped


def test_minima_come_before_diversity() -> None:
    dropped = {"stage": "page", "reason": "min_relevance"}
    candidate = {"places": {"fuse": 3, "dedup": 3}, "relevance": 0.1239, "dropped": dropped}
    facts = places(["fuse", "dedup", "mmr"], candidate, min_relevance=0.5)
    findings, verdict, suggestion = diagnose_places(facts)
    assert [finding["stage"] for finding in findings] == ["fuse", "dedup", "min_relevance"]
    assert verdict == "Its relevance 0.1239 is below min_relevance 0.5."
    assert suggestion == "Lower min_relevance to 0.123."


def test_a_stage_that_says_no_reason() -> None:
    _, verdict, suggestion = diagnose_places(places(["fuse", "mmr"], {"places": {"fuse": 3}}))
    assert (verdict, suggestion) == ("The stage mmr left it out.", None)


def test_the_passage_that_comes_furthest_counts() -> None:
    front = {"places": {"fuse": 1}, "dropped": {"reason": "content", "of": "x"}}
    back = {"places": {"fuse": 9, "dedup": 8, "page": 8}}
    behind = {"places": {"fuse": 10, "dedup": 9, "page": 9}}
    findings, verdict, _ = diagnose_places(places(["fuse", "dedup"], front, behind, back))
    assert verdict == "It is result 8."
    assert [f["details"].get("place") for f in findings] == [9, 8, 8]


def test_stages_that_were_skipped_have_no_finding() -> None:
    facts = places(["fuse", "dedup"], {"places": {"fuse": 2, "page": 2}})
    facts["stages"][3]["skipped"] = "it is off"
    findings, verdict, _ = diagnose_places(facts)
    assert [f["stage"] for f in findings] == ["fuse", "page"]
    assert verdict == "It is result 2."


def conditions(**changes: Any) -> dict[str, Any]:
    return {
        "document": {"collection": "c", "language": "english", "passages": 2},
        "collections": ["c"],
        "settings": {"language": None},
        "failed_conditions": None,
        "operators": None,
    } | changes


def test_a_document_that_fails_nothing() -> None:
    asked = {"phrases": ["a b"], "excluded": ["c"], "held": True}
    findings, verdict, suggestion = diagnose_conditions(
        conditions(settings={"language": "english"}, failed_conditions=[], operators=asked)
    )
    assert [finding["finding"] for finding in findings] == [
        "It is there, with 2 passages.",
        'Its collection "c" is searched.',
        "Its language is english, as asked for.",
        "It passes the filter.",
        'It satisfies the query\'s "a b" -c.',
    ]
    assert all(finding["passed"] for finding in findings)
    assert (verdict, suggestion) == (None, None)


@pytest.mark.parametrize(
    ("changes", "stage", "verdict"),
    [
        ({"document": None}, "document", "There is no such document, or you may not read it."),
        ({"document": {"passages": 0}}, "document", "It has no passages: its text is empty."),
        ({"collections": []}, "collection", 'Its collection "c" is not searched.'),
        ({"settings": {"language": "german"}}, "language",
         "Its language is english, and only german is searched."),
        ({"failed_conditions": ["{}", "[]"]}, "filter", "It fails the filter's {} and []."),
        ({"operators": {"phrases": ["x"], "excluded": [], "held": False}}, "operators",
         'No passage of it satisfies the query\'s "x".'),
    ],
)  # fmt: skip
def test_the_first_condition_that_fails_ends_it(changes: Any, stage: str, verdict: str) -> None:
    findings, told, suggestion = diagnose_conditions(conditions(**changes))
    assert (findings[-1]["stage"], findings[-1]["passed"], told) == (stage, False, verdict)
    assert suggestion
    assert all(finding["passed"] for finding in findings[:-1])


def test_where_an_arm_lacks_the_document() -> None:
    findings, _, suggestion = diagnose_arms(
        arms(lexical=arm(None, lacking=["a", "b"]), vector=arm(None, waiting=1), fuzzy=arm(None))
    )
    assert [finding["finding"] for finding in findings[:3]] == [
        'It has none of the words "a", "b".',
        "It has no vector yet.",
        "It has none of the corrected words.",
    ]
    assert suggestion == "Run pgblend ingest with a model gateway, which makes its vector."


@pytest.mark.parametrize(
    ("place", "settings", "changes", "verdict", "suggestion"),
    [
        (101, {}, {}, "Its place is 101, and candidate_depth 100 is the last one shown.",
         "Raise candidate_depth to 101."),
        (3, {}, {"result_limit": 0}, "It is result 3, and no results were asked for.",
         "Ask for 3 results."),
        (14, {}, {}, "Its place is 14, and the page ends at 10.",
         "Ask for 14 results, or for offset 10."),
        (4, {}, {"start": 4}, "Its place is 4, and the page begins at 5.",
         "Ask for offset 0."),
        (None, {"min_score": 0.6}, {}, "Its score 0.5 is below min_score 0.6.",
         "Lower min_score to 0.5."),
        (None, {"min_relevance": 0.6}, {},
         "It has no relevance, and min_relevance asks for 0.6.", "Leave out min_relevance."),
    ],
)  # fmt: skip
def test_pages_and_minima(
    place: int | None, settings: Any, changes: Any, verdict: str, suggestion: str
) -> None:
    page = {} if place is None else {"page": place}
    facts = places(["fuse"], {"places": {"fuse": 3} | page}, **settings) | changes
    assert diagnose_places(facts)[1:] == (verdict, suggestion)


@pytest.mark.parametrize(
    ("came", "of", "lifts"),
    [
        ({"fuse": 91}, {"vector": arm(40), "lexical": arm(95)}, []),
        ({"fuse": 91}, {"vector": arm(4), "lexical": arm(95)},
         ["Raise weights.vector: its rank by vectors is 4."]),
        ({"fuse": 91}, {"vector": arm(4)}, []),  # no other arm that it could count more than
        ({"fuse": 91}, {"vector": arm(None, waiting=1), "lexical": arm(95, lacking=["a", "b"])},
         ['It would rank higher if it had these words of the query: "a", "b".',
          "It has no vector yet, which would bring it up."]),
        ({"fuse": 12, "dedup": 9, "rerank": 20, "blend": 91}, {"lexical": arm(95)},
         ["Leave out reranking, or give it less weight in blend: its place was 9 before."]),
        ({"fuse": 12, "dedup": 11, "rerank": 1, "blend": 7, "mmr": 91}, {"lexical": arm(95)},
         ["Raise mmr.lambda: its place was 7 before."]),
        ({"fuse": 12, "dedup": 11, "mmr": 91}, {"lexical": arm(95)}, []),
    ],
)  # fmt: skip
def test_what_would_bring_it_up(came: dict[str, int], of: Any, lifts: list[str]) -> None:
    facts = places(list(came), {"places": came | {"page": 91}}) | {"arms": of}
    facts["stages"] = facts["stages"][2:]  # the arms' own have no places
    _, verdict, suggestion = diagnose_places(facts)
    assert verdict == "Its place is 91, and the page ends at 10."
    assert suggestion == " ".join([*lifts, "Ask for 91 results, or for offset 90."])
