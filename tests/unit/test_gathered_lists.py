"""The lists that a search gathers while models are asked, against a gateway over real HTTP."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.base.settings import Layers
from pgblend.plpy.models.expansion import expanded_query
from pgblend.plpy.models.outcome import Outcome
from pgblend.plpy.search.candidates import ArmList
from pgblend.plpy.search.lists import (
    Gathered,
    ListSearch,
    bound_by_exact_words,
    first_lists,
    gathered_lists,
)
from pgblend.plpy.search.plan import Plan
from support.arm_lists import settings_of
from support.raw_server import http_answer
from support.stage_gateway import (
    EXPANSION,
    SUB_QUESTIONS,
    FakeProgress,
    StageGateway,
    stage_gateway,
)


@pytest.fixture
def gateway() -> Iterator[StageGateway]:
    with stage_gateway() as opened:
        yield opened


class Source:
    """Gives lists of one row, and remembers what was asked for."""

    def __init__(self, log: FakeProgress, **more: dict[str, Any]) -> None:
        self.log, self.more = log, more
        self.asked: dict[str, str | None] = {}

    def find(
        self,
        kind: str,
        arm: str,
        weight: float,
        text: str = "",
        vector: str | None = None,
        depth: int | None = None,
    ) -> ArmList:
        self.asked[arm] = text or vector
        notes = {1: {"corrections": {"wien": ["wine"]}}}
        columns = CandidateList([1], [1], [0], [3.0], perfect=10.0)
        return replace(ArmList(arm, kind, weight, columns, notes), **self.more.get(arm, {}))

    def say_more(self, found: CandidateList, most: int) -> bool:
        return False

    def vectors_of(self, outcome: Outcome, count: int) -> list[str] | None:
        if outcome.problem is not None:
            self.log.degrade("vector", outcome.problem, outcome.hint)
            return None
        assert len(outcome.answer["vectors"]) == count
        return list(outcome.answer["vectors"])


WEIGHTS = {
    "lexical": 1, "vector": 2, "fuzzy": 0,
    "lexical_variant": 0.5, "vector_variant": 0.25, "hyde": 0.75,
}  # fmt: skip
SETTINGS: dict[str, Any] = {
    "weights": WEIGHTS,
    "fuzzy": "auto",
    "fuzzy_method": "vocabulary",
    "expansion": {},
    "hyde": "list",
    "strong_signal": {"score": 0.5, "gap": 0.1, "center": 0, "scale": 0},
}
EXPANDS = {"expands": True}


@pytest.mark.parametrize(
    ("more", "weights", "every_word", "names", "weight"),
    [
        ({}, {}, False, ["lexical", "fuzzy"], 0.125),
        ({}, {}, True, ["lexical"], 1),  # no word had to be corrected
        ({"fuzzy_method": "word_similarity"}, {}, True, ["lexical", "fuzzy"], 0.125),
        ({"fuzzy": "on"}, {}, True, ["lexical", "fuzzy"], 0.125),
        ({"fuzzy": "off"}, {}, False, ["lexical"], 1),
        ({}, {"fuzzy": 0}, False, ["lexical"], 1),
        ({}, {"lexical": 0}, False, [], None),
        ({"fuzzy": "on"}, {"lexical": 0}, False, ["fuzzy"], 3),
    ],
)
def test_lists_of_the_words(
    more: Any, weights: Any, every_word: bool, names: list[str], weight: float | None
) -> None:
    log = FakeProgress()
    settings = settings_of(SETTINGS | more | {"weights": WEIGHTS | {"fuzzy": 3} | weights})
    lists = first_lists("wine", settings, Source(log, lexical={"every_word": every_word}), log)
    assert [one.arm for one in lists] == names
    assert (lists[0].weight if lists else None) == weight
    assert [name for name, _ in log.told()] == ["lexical", "fuzzy"]
    assert [name for name, rows in log.told() if rows == 1] == names


def test_words_weigh_more_where_the_first_passage_has_the_name_that_is_asked_for() -> None:
    log = FakeProgress()
    settings = settings_of(SETTINGS | {"weights": WEIGHTS | {"fuzzy": 1}})
    lists = first_lists("wine", settings, Source(log, lexical={"named": True}), log)
    assert [(one.arm, one.weight) for one in lists] == [("lexical", 3 / 8), ("fuzzy", 3)]


def test_a_fuzzy_arm_that_puts_nothing_right_gives_no_list() -> None:
    log = FakeProgress()
    settings = settings_of(SETTINGS | {"weights": WEIGHTS | {"fuzzy": 1}})
    empty = Source(log, fuzzy={"found": CandidateList(), "notes": {}})
    (words,) = first_lists("wine", settings, empty, log)
    assert (words.arm, words.weight) == ("lexical", 1)
    assert log.told() == [("lexical", 1), ("fuzzy", 0)]


@pytest.mark.parametrize(("asked", "bound"), [(1, [9.0, 3.0]), (2, [3.0, 2.0])])
def test_a_corrected_word_gives_no_more_than_the_best_has_unless_most_are_misspelt(
    asked: int, bound: list[float]
) -> None:
    words = ArmList("lexical", "lexical", 1, CandidateList([1], [1], [0], [2.0]), asked=asked)
    rows = CandidateList([2, 1], [2, 1], [0, 0], [9.0, 3.0], [0, 0])
    notes = {rank: {"corrections": {"wien": ["wine"]}} for rank in (1, 2)}
    corrected = ArmList("fuzzy", "fuzzy", 1, rows, notes)
    bound_by_exact_words(corrected, words)
    assert corrected.found.scores == bound


def gather(
    gateway: StageGateway,
    vector: str | None = None,
    weights: Any = None,
    space: str | None = "space",
    expands: bool = False,
    **more: Any,
) -> tuple[list[tuple[str, Any]], Gathered, FakeProgress]:
    """Return (list, what it was asked with) of each list, the whole result, and the log."""
    log = FakeProgress()
    settings = settings_of(SETTINGS | {"weights": WEIGHTS | (weights or {})} | more)
    plan = Plan(
        settings, Layers({}, {}, {}), {}, None, expands, False, False, {},
        "by the setting expansion", "", 0,
    )  # fmt: skip
    source = Source(log)
    with gateway.models() as models:
        search = ListSearch("wine", vector, plan, space, False, source, log, models)
        found = gathered_lists(search)
    return [(one.arm, source.asked[one.arm]) for one in found.lists], found, log


def test_words_and_the_vector_of_the_query(gateway: StageGateway) -> None:
    told, found, log = gather(gateway)
    assert told == [("lexical", "wine"), ("vector", "[1]")]
    assert (found.vector, found.expansion) == ("[1]", None)
    assert gateway.asked == [("embed", {"input": ["wine"]})]
    assert log.told() == [
        ("lexical", 1), ("fuzzy", "its weight is 0"), ("expand", "by the setting expansion"),
        ("embed", 1), ("vector", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("vector", "weights", "more", "lists", "reasons"),
    [
        ("[9]", {}, {}, ["lexical", "vector"], {"embed": "the caller gave the vector"}),
        (None, {}, {"space": None}, ["lexical"],
         {"embed": "there is no embedding space", "vector": "the query has no vector"}),
        (None, {"vector": 0}, {}, ["lexical"],
         {"embed": "no need", "vector": "its weight is 0"}),
        ("[9]", {"lexical": 0}, {}, ["vector"],
         {"lexical": "its weight is 0", "embed": "the caller gave the vector"}),
    ],
)  # fmt: skip
def test_what_is_not_asked_for(
    gateway: StageGateway, vector: Any, weights: Any, more: Any, lists: Any, reasons: Any
) -> None:
    told, _, log = gather(gateway, vector, weights, **more)
    assert [name for name, _ in told] == lists
    assert reasons.items() <= dict(log.told()).items()
    assert gateway.asked == []


def test_an_expansion_gives_more_lists_and_one_call_for_all_vectors(gateway: StageGateway) -> None:
    told, found, log = gather(gateway, **EXPANDS)
    assert told == [
        ("lexical", "wine"), ("vector", "[1]"), ("lexical_variant_1", "vin"),
        ("vector_variant_1", "[2]"), ("hyde", "[3]"),
    ]  # fmt: skip
    assert [one.weight for one in found.lists] == [1, 2, 0.5, 0.25, 0.75]
    assert found.expansion == "expanded"
    assert gateway.asked == [
        ("expand", {"query": "wine"}),
        ("embed", {"input": ["wine", "a drink", "It is wine."]}),
    ]
    assert ("expand", 3) in log.told()


def test_hyde_takes_the_place_of_the_query(gateway: StageGateway) -> None:
    told, found, _ = gather(gateway, "[9]", hyde="query", **EXPANDS)
    assert told == [("lexical", "wine"), ("vector", "[4]")]
    assert found.vector == "[4]"
    assert [task for task, _ in gateway.asked] == ["hyde", "embed"]


def test_an_expansion_that_the_caller_gave(gateway: StageGateway) -> None:
    given = EXPANSION | {"embeddings": [[5], [6]]}
    told, _, _ = gather(gateway, "[9]", expansion=given, **EXPANDS)
    assert told[1:] == [
        ("vector", "[9]"), ("lexical_variant_1", "vin"), ("vector_variant_1", "[5]"),
        ("hyde", "[6]"),
    ]  # fmt: skip
    told, _, _ = gather(gateway, expansion=given, hyde="query", **EXPANDS)
    assert told[1:] == [("vector", "[6]")]
    assert gateway.asked == []
    told, _, _ = gather(gateway, expansion=EXPANSION, **EXPANDS)
    assert gateway.asked == [("embed", {"input": ["wine", "a drink", "It is wine."]})]


@pytest.mark.parametrize(
    ("least", "state", "lists"),
    [(0.3, "skipped_strong", 2), (0.31, "expanded", 5)],  # the best has 3 of 10
)
def test_a_strong_signal_leaves_the_expansion(
    gateway: StageGateway, least: float, state: str, lists: int
) -> None:
    signal = SETTINGS["strong_signal"] | {"score": least}
    _, found, log = gather(gateway, "[9]", strong_signal=signal, **EXPANDS)
    assert (found.expansion, len(found.lists)) == (state, lists)
    (told,) = [one for one in log.stages if one.name == "strong_signal"]
    assert told.details["strong"] is (state == "skipped_strong")
    assert told.details["top"] == [0.3]


SPLIT = {"lexicalQueries": [], "subQuestions": SUB_QUESTIONS}
QUESTION_LISTS = [
    ("lexical", "wine"), ("vector", "[1]"),
    ("lexical_question_1", "who makes it"), ("lexical_question_2", "who drinks it"),
    ("vector_question_1", "[5]"), ("vector_question_2", "[6]"),
]  # fmt: skip


def test_sub_questions_are_searched_by_words_and_vectors(gateway: StageGateway) -> None:
    gateway.says["expand"] = SPLIT
    told, found, log = gather(gateway, sub_questions={"most": 4, "weight": 0.5}, **EXPANDS)
    assert told == QUESTION_LISTS
    assert [one.weight for one in found.lists] == [1, 2, 0.5, 0.5, 1, 1]
    assert [one.question for one in found.lists] == [None, None, *SUB_QUESTIONS, *SUB_QUESTIONS]
    assert gateway.asked == [
        ("expand", {"query": "wine", "sub_questions": 4}),
        ("embed", {"input": ["wine", *SUB_QUESTIONS]}),
    ]
    (stage,) = [one for one in log.stages if one.name == "expand"]
    assert (stage.rows, (stage.details or {})["subQuestions"]) == (2, SUB_QUESTIONS)


@pytest.mark.parametrize("most", [0, 3])
def test_a_chat_is_told_and_needs_one_sub_question(gateway: StageGateway, most: int) -> None:
    gateway.says["expand"] = SPLIT | {"subQuestions": SUB_QUESTIONS[:1]}
    history = [{"role": "user", "content": "Tell me of Rioja."}]
    strong = SETTINGS["strong_signal"] | {"score": 0.1}  # of what is not the whole question
    split = {"most": most, "weight": 1}
    told, _, _ = gather(
        gateway, "[9]", history=history, sub_questions=split, strong_signal=strong, **EXPANDS
    )
    assert [name for name, _ in told][2:] == ["lexical_question_1", "vector_question_1"]
    asked = {"query": "wine", "history": history, "sub_questions": max(most, 1)}
    assert gateway.asked[0] == ("expand", asked)


def test_sub_questions_that_the_caller_gave(gateway: StageGateway) -> None:
    given = EXPANSION | {"subQuestions": SUB_QUESTIONS, "embeddings": [[5], [6], [7], [8]]}
    told, _, _ = gather(gateway, "[9]", expansion=given, **EXPANDS)
    assert dict(told).items() >= {"hyde": "[6]", "vector_question_2": "[8]"}.items()
    told, _, _ = gather(gateway, expansion=given, hyde="query", **EXPANDS)
    assert told == [("lexical", "wine"), ("vector", "[6]")]
    told, _, _ = gather(
        gateway, "[9]", expansion=given, sub_questions={"most": 4, "weight": 0}, **EXPANDS
    )
    assert "vector_question_1" not in dict(told)
    assert gateway.asked == []


def test_an_expansion_that_fails_leaves_the_rest(gateway: StageGateway) -> None:
    gateway.says["expand"] = {"hyde": 7}
    told, found, log = gather(gateway, **EXPANDS)
    assert told == [("lexical", "wine"), ("vector", "[1]")]
    assert found.expansion == "failed"
    assert log.degraded == [("expand", "the gateway's answer is no expansion")]


def test_vectors_that_fail_leave_the_words(gateway: StageGateway) -> None:
    gateway.says["embed"] = http_answer(b"no", "503 Unavailable")
    told, found, log = gather(gateway, **EXPANDS)
    assert told == [("lexical", "wine"), ("lexical_variant_1", "vin")]
    assert found.vector is None
    assert log.degraded == [("vector", "the model gateway answered 503: no")]


def test_what_an_expansion_tells(gateway: StageGateway) -> None:
    gateway.says["expand"] = EXPANSION | {"queryLanguage": "en", "cached": False, "other": 1}
    log = FakeProgress()
    with gateway.models() as models:
        models.begin("expand", {"query": "wine"})
        assert expanded_query(settings_of(SETTINGS), False, models, log) == EXPANSION
    (stage,) = log.stages
    told = EXPANSION | {"queryLanguage": "en", "cached": False, "model_ms": 0.0}
    assert (stage.rows, stage.details) == (3, told)
    given = {**EXPANSION, "hyde": " ", "embeddings": [[1]]}
    with gateway.models() as models:
        found = expanded_query(settings_of(SETTINGS | {"expansion": given}), False, models, log)
    assert found == {**EXPANSION, "hyde": None, "embeddings": [[1]]}
    told = {**EXPANSION, "hyde": None, "given": True}
    assert (log.stages[1].rows, log.stages[1].details) == (2, told)
