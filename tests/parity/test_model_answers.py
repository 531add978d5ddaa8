"""What is taken of a model's answers: scores, expansions, and the lists that these ask for."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from pgblend.plpy.base.session import error_state
from pgblend.plpy.models.expansion import checked_expansion
from pgblend.plpy.models.outcome import checked_vectors
from pgblend.plpy.search.lists import variant_arms, vectors_of_texts
from pgblend.plpy.search.rerank import checked_scores
from support.arm_lists import settings_of
from support.database import Database
from support.program import loading

STATE = """
CREATE OR REPLACE FUNCTION pg_temp.state(state text) RETURNS text
LANGUAGE plpython3u AS $python$
from pgblend.plpy.base.session import error_state
try:
    plpy.execute(f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{state}'; END $$")
except plpy.SPIError as error:
    return error_state(error)
$python$;
"""


def scored(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"results": [{"index": index, "relevance_score": score} for index, score in pairs]}


WRONG = "the gateway's answer has"


@pytest.mark.parametrize(
    ("answer", "count", "found"),
    [
        (scored((1, 0.25), (0, 1)), 2, [1.0, 0.25]),
        (scored((0, 0)), 1, [0.0]),
        (scored(), 0, []),
        ({}, 1, f"{WRONG} no results"),
        ({"results": {"index": 0}}, 1, f"{WRONG} no results"),
        ({"results": [0.5]}, 1, f"{WRONG} no results"),
        (scored((1, 0.5)), 1, f"{WRONG} a score for text 1 of 1"),
        (scored((-1, 0.5)), 1, f"{WRONG} a score for text -1 of 1"),
        (scored(("0", 0.5)), 1, f"{WRONG} a score for text '0' of 1"),
        (scored((True, 0.5), (0, 0.5)), 2, f"{WRONG} a score for text True of 2"),
        (scored((None, 0.5)), 1, f"{WRONG} a score for text None of 1"),
        (scored((0, None)), 1, f"{WRONG} None for a score"),
        (scored((0, "x" * 99)), 1, f"{WRONG} '{'x' * 49} for a score"),
        (scored((0, True)), 1, f"{WRONG} True for a score"),
        (scored((0, 1.5)), 1, f"{WRONG} a score of 1.5: expected 0 to 1"),
        (scored((0, -0.001)), 1, f"{WRONG} a score of -0.001: expected 0 to 1"),
        (scored((0, 10**400)), 1, f"{WRONG} 1{'0' * 49} for a score"),
        (scored((0, 0.5), (0, 0.5)), 2, f"{WRONG} two scores for text 0"),
        (scored((0, 0.5)), 2, "the gateway gave 1 scores for 2 texts"),
    ],
)
def test_scores_of_a_reranker(db: Database, answer: Any, count: int, found: Any) -> None:
    assert checked_scores(answer, count) == found
    deployed = db.value("SELECT pgblend._checked_scores(%s, %s)", Jsonb(answer), count)
    assert deployed == {"problem" if isinstance(found, str) else "scores": found}


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_score(score: float) -> None:
    assert checked_scores(scored((0, score)), 1) == f"{WRONG} {score} for a score"


@given(scores=st.lists(st.floats(0, 1), max_size=6), data=st.data())
def test_scores_come_in_any_order(scores: list[float], data: Any) -> None:
    shuffled = data.draw(st.permutations(list(enumerate(scores))))
    assert checked_scores(scored(*shuffled), len(scores)) == scores


NOTHING: dict[str, Any] = {"lexicalQueries": [], "vectorQueries": [], "hyde": None}


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({}, NOTHING),
        ({"lexicalQueries": None, "vectorQueries": [" ", ""], "hyde": " \n"}, NOTHING),
        ({"vectorQueries": ["a ", "b"], "hyde": "c", "cached": True},
         {"lexicalQueries": [], "vectorQueries": ["a ", "b"], "hyde": "c"}),
        ({"lexicalQueries": ["", *map(str, range(12))]},
         {**NOTHING, "lexicalQueries": list(map(str, range(10)))}),
        ({"lexicalQueries": "a"}, None),
        ({"vectorQueries": ["a", 1]}, None),
        ({"vectorQueries": {"a": 1}}, None),
        ({"hyde": 7}, None),
        ({"hyde": ["a"]}, None),
        ([], None),
        ("text", None),
        (None, None),
    ],
)  # fmt: skip
def test_expansion_of_an_answer(db: Database, answer: Any, found: Any) -> None:
    assert checked_expansion(answer) == found
    assert db.value("SELECT pgblend._checked_expansion(%s)", Jsonb(answer)) == found


def embedded(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]}


SPACE = {"name": "s", "model": "m", "dimensions": 2}
NONE = "the gateway's answer has no vectors: "


@pytest.mark.parametrize(
    ("answer", "count", "found"),
    [
        (embedded([1, 0.5]), 1, [[1, 0.5]]),
        ({"data": [{"index": 1, "embedding": [1, 0]}, {"index": 0, "embedding": [0, 1]}]}, 2,
         [[0, 1], [1, 0]]),
        ({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}, 2, [[1, 0], [0, 1]]),
        (embedded([3e30, -4e30]), 1, [[0.6, -0.8]]),
        (embedded([3e-320, 4e-320]), 1, [[0.6, 0.8]]),
        (embedded(), 0, []),
        ({}, 0, []),
        ({}, 1, "the gateway gave 0 vectors for 1 texts"),
        ({"data": None}, 1, "the gateway gave 0 vectors for 1 texts"),
        ({"data": {"a": 1}}, 1, f"{NONE}data is {{'a': 1}}"),
        (embedded([1, 2], [1, 2]), 1, "the gateway gave 2 vectors for 1 texts"),
        ({"data": [[1, 2]]}, 1, "the gateway's answer lacks a vector"),
        (embedded(None), 1, "the gateway's answer lacks a vector"),
        (embedded([]), 1, f"{NONE}[] is none"),
        (embedded("[1, 2]"), 1, f"{NONE}'[1, 2]' is none"),
        (embedded([1, "2"]), 1, f"{NONE}'2' is no number"),
        (embedded([1, True]), 1, f"{NONE}True is no number"),
        (embedded([1, None]), 1, f"{NONE}None is no number"),
        (embedded([1, 1e300]), 1, f"{NONE}a number is too large"),
        (embedded([1, -(10**400)]), 1, f"{NONE}a number is too large"),
        (embedded([0, 0.0]), 1, "the gateway's answer has the zero vector, which has no direction"),
        (embedded([1, 2, 3]), 1, "the gateway gave 3 dimensions for model \"m\", embedding space"
         ' "s" holds 2'),
    ],
)  # fmt: skip
def test_vectors_of_a_model(db: Database, answer: Any, count: int, found: Any) -> None:
    given = checked_vectors(answer, count, SPACE)
    deployed = db.value(
        "SELECT pgblend._checked_vectors(%s, %s, s) FROM (SELECT (jsonb_populate_record("
        "NULL::pgblend_data.embedding_space, %s)).*) AS s",
        *(Jsonb(answer), count, Jsonb(SPACE)),
    )
    if isinstance(found, str):
        assert isinstance(given, dict)
        assert deployed == given
        assert (given["problem"], bool(given["hint"])) == (found, True)
    else:
        vectors = [pytest.approx(vector, rel=1e-3) for vector in found]
        assert (deployed, given) == ({"vectors": vectors}, vectors)


def test_without_a_space_vectors_are_of_one_size() -> None:
    assert checked_vectors(embedded([1, 2, 3], [4, 5, 6]), 2, None) == [[1, 2, 3], [4, 5, 6]]
    found = checked_vectors(embedded([1, 2, 3], [4, 5]), 2, None)
    assert isinstance(found, dict)
    assert found["problem"] == "the gateway gave 2 dimensions and 3 in one answer"


EXPANSION = {"lexicalQueries": ["red", "vin"], "vectorQueries": ["a drink"], "hyde": "It is wine."}
WEIGHTS = {"lexical": 1, "vector": 2, "lexical_variant": 0.5, "vector_variant": 0.25, "hyde": 0.75}
WORDS = [
    ("lexical", "lexical_variant_1", 0.5, "red"),
    ("lexical", "lexical_variant_2", 0.5, "vin"),
]
MEANING = [("vector", "vector_variant_1", 0.25, "a drink"), ("vector", "hyde", 0.75, "It is wine.")]


@pytest.mark.parametrize(
    ("weights", "hyde", "arms"),
    [
        ({}, "list", WORDS + MEANING),
        ({}, "query", []),
        ({"lexical": 0}, "list", MEANING),
        ({"vector": 0}, "list", WORDS),
        ({"lexical_variant": 0, "hyde": 0}, "list", MEANING[:1]),
        ({"vector_variant": 0}, "list", WORDS + MEANING[1:]),
    ],
)
def test_lists_of_an_expansion(weights: Any, hyde: str, arms: Any) -> None:
    assert (
        variant_arms("wine", EXPANSION, settings_of({"weights": WEIGHTS | weights, "hyde": hyde}))
        == arms
    )


def test_a_weight_that_is_not_given_makes_no_list() -> None:
    settings = settings_of({"weights": {"lexical": 1, "vector": 1}, "hyde": "list"})
    assert variant_arms("wine", EXPANSION, settings) == []


@pytest.mark.parametrize(
    ("query", "variant", "kept"),
    [
        ("red wine", "vin rouge", True),
        ('"red wine"', "vin rouge", False),
        ('"red wine"', 'vin "Red Wine"', True),
        ("wine -white", "vin", False),
        ("wine -white", "-WHITE vin", True),
        ('a "b" or c', 'c or "b"', True),
        ("wine", "well-known vin", True),  # a hyphen excludes nothing
        ("wine", "vin -white", False),  # a condition that the query has not
    ],
)
def test_variants_by_words_keep_the_conditions(query: str, variant: str, kept: bool) -> None:
    expansion = {"lexicalQueries": [variant], "vectorQueries": [variant], "hyde": None}
    names = [name for _, name, _, _ in variant_arms(
        query, expansion, settings_of({"weights": WEIGHTS, "hyde": "list"}))]  # fmt: skip
    assert names == [*(["lexical_variant_1"] if kept else []), "vector_variant_1"]


ARMS = variant_arms("wine", EXPANSION, settings_of({"weights": WEIGHTS, "hyde": "list"}))


def test_vectors_that_the_caller_gave() -> None:
    given = {**EXPANSION, "embeddings": [[1, 0], [0, 0.5]]}
    both = {"vector_variant_1": "[1, 0]", "hyde": "[0, 0.5]"}
    assert vectors_of_texts(given, ARMS, False) == both
    assert vectors_of_texts(given, ARMS[:3], False) == {"vector_variant_1": "[1, 0]"}
    assert vectors_of_texts(given, ARMS[:2], False) == {}
    assert vectors_of_texts(given, [], True) == {"vector": "[0, 0.5]"}
    without = {**given, "hyde": None, "embeddings": [[1, 0]]}
    assert vectors_of_texts(without, [], True) == {}
    assert vectors_of_texts(without, ARMS, False) == {"vector_variant_1": "[1, 0]"}
    for none in (EXPANSION, {**EXPANSION, "embeddings": None}, {**EXPANSION, "embeddings": []}):
        assert vectors_of_texts(none, ARMS, False) == {}


@pytest.mark.parametrize("embeddings", [[[1, 0]], [[1, 0]] * 3, [[1, 0], [1]]])
def test_vectors_must_fit_the_texts(embeddings: Any) -> None:
    told = f'"expansion" has {len(embeddings)} embeddings for 2 texts: expected a vector of one'
    with pytest.raises(ValueError, match=told):
        vectors_of_texts({**EXPANSION, "embeddings": embeddings}, ARMS, False)


@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=2, max_size=2))
def test_vectors_are_handed_on_as_they_are(embeddings: list[list[float]]) -> None:
    texts = vectors_of_texts({**EXPANSION, "embeddings": embeddings}, ARMS, False)
    assert [json.loads(text) for text in texts.values()] == embeddings


@pytest.mark.parametrize("state", ["PB009", "22023", "57014", "XX000"])
def test_the_state_of_an_error(db: Database, state: str) -> None:
    """PL/Python knows no names for our own."""
    db.rows(loading(STATE))
    assert db.value("SELECT pg_temp.state(%s)", state) == state
    assert error_state(ValueError("no error of a statement")) == ""
