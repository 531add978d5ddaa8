"""other_languages: of two translations, the one in the question's language comes first."""

import json
from typing import Any

import pytest

from support.database import Database

# Both have the words that are looked for; the German text has them more often.
TEXTS = {
    "en": ("english", "A canvas is a place for notes. You can draw on it, and it has no end."),
    "de": ("german", "Ein Canvas ist eine Fläche: der Canvas hat kein Ende."),
    "ru": ("russian", "Canvas: место для заметок без края."),
    "zh": ("zh", "画布是放置笔记的地方。画布没有尽头。"),
}
ENGLISH, GERMAN = "what is a canvas", "was ist ein Canvas"


@pytest.fixture
def library(db: Database) -> Database:
    """A passage and its translations, and a German one without translation."""
    db.rows("SELECT add_collection('c')")
    for key, (config, text) in TEXTS.items():
        db.rows("SELECT ingest_document('c', %s, %s, language => %s)", key, text, config)
    db.rows(
        "SELECT ingest_document('c', 'only', %s, language => 'german')",
        "Der Keller hat roten Wein.",
    )
    return db


def found(db: Database, query: str, **options: Any) -> list[tuple[str, float]]:
    call = "hybrid_search(%s, options => %s)"
    rows = db.rows(f"SELECT source_key, score FROM {call}", query, json.dumps(options))
    return [(row[0], row[1]) for row in rows]


def test_the_question_s_own_comes_first(library: Database) -> None:
    before = [key for key, _ in found(library, ENGLISH)]
    assert before[0] == "de"
    after = found(library, ENGLISH, other_languages=0.3)
    assert after[0][0] == "en"
    assert sorted(before) == sorted(key for key, _ in after)
    assert found(library, GERMAN, other_languages=0.3)[0][0] == "de"


def test_scores_of_others_are_multiplied(library: Database) -> None:
    plain = dict(found(library, ENGLISH))
    half = dict(found(library, ENGLISH, other_languages=0.5))
    assert half == {
        key: pytest.approx(score * (1 if key == "en" else 0.5)) for key, score in plain.items()
    }


@pytest.mark.parametrize(
    "query",
    ["canvas", "the red Wein", "画布"],
    ids=["no stop word tells", "none in its language", "one language"],
)
def test_nothing_changes_where_the_question_s_own_is_not_known_or_not_there(
    query: str, library: Database
) -> None:
    assert found(library, query, other_languages=0.5) == found(library, query)


def test_nothing_is_lost_with_no_score_left(library: Database) -> None:
    keys = {key for key, _ in found(library, ENGLISH)}
    assert {key for key, _ in found(library, ENGLISH, other_languages=0)} == keys


def test_the_row_and_its_explanation_say_so(library: Database) -> None:
    options = json.dumps({"other_languages": 0.5})
    rows = library.rows(
        "SELECT source_key, details -> 'language' FROM hybrid_search(%s, options => %s)",
        ENGLISH,
        options,
    )
    assert {row[0]: row[1] for row in rows if row[0] != "zh"} == {"en": 1, "de": 0.5, "ru": 0.5}
    explained = library.value("SELECT search_explain(%s, options => %s)", ENGLISH, options)
    parts = {one["source_key"]: one["parts"] for one in explained["results"]}
    assert parts["de"]["language"] < 0
    assert sum(parts["de"].values()) == pytest.approx(
        dict(found(library, ENGLISH, other_languages=0.5))["de"]
    )
    assert "language" not in parts["en"]
