"""Synonyms: words and phrases of a query that stand for others in the lexical arm."""

import json
from typing import Any

import pytest

from support.database import Database

TEXTS = {
    "tv": "the cheapest tv",
    "television": "cheap televisions for all",
    "nyc": "a weekend in nyc",
    "long": "the new york city marathon",
    "york": "the city of york is old",
    "other": "nothing of that here",
    "de": "ein neuer Fernseher",
}
TV = {"words": ["TV", "television"]}
CITY = {"words": ["nyc", "New York City"]}


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c', 'english')")
    for key, text in TEXTS.items():
        language = "german" if key == "de" else "english"
        db.rows("SELECT ingest_document('c', %s, %s, language => %s)", key, text, language)
    return db


def found(db: Database, query: str, *synonyms: Any, **options: Any) -> dict[str, float]:
    """Return scores by key; the fuzzy arm is off unless it is asked for."""
    given = json.dumps({"fuzzy": "off", "strict": True, **options, "synonyms": synonyms})
    rows = db.rows(
        "SELECT source_key, score FROM lexical_search(%s, 50, options => %s)", query, given
    )
    return {key: score for key, score in rows}


def test_words_stand_for_each_other(library: Database) -> None:
    assert {*found(library, "tv")} == {"tv"}
    assert {*found(library, "tv", TV)} == {"tv", "television"}
    assert {*found(library, "Televisions", TV)} == {"tv", "television"}
    assert {*found(library, "radio", TV)} == set()
    assert found(library, "cheap", TV) == found(library, "cheap")


def test_to_goes_one_way(library: Database) -> None:
    one_way = {"words": ["tv"], "to": ["television"]}
    assert {*found(library, "tv", one_way)} == {"tv", "television"}
    assert {*found(library, "television", one_way)} == {"television"}


def test_a_phrase_stands_side_by_side_in_the_query(library: Database) -> None:
    assert {*found(library, "nyc", CITY)} == {"nyc", "long", "york"}
    assert next(iter(found(library, "nyc", CITY))) == "nyc"
    assert [*found(library, "nyc", CITY)][1] == "long"
    assert "nyc" in found(library, "hotels in new york city", CITY)
    assert "nyc" not in found(library, "the new city of york", CITY)
    assert "nyc" not in found(library, "new york", CITY)


def test_a_language_has_its_own(library: Database) -> None:
    german = {"words": ["glotze"], "to": ["Fernseher"], "language": "german"}
    assert {*found(library, "Glotze", german)} == {"de"}
    assert {*found(library, "Glotze", german | {"language": "english"})} == set()
    assert {*found(library, "Glotze", german | {"language": None})} == {"de"}


def test_weight_counts_beside_the_word(library: Database) -> None:
    half = found(library, "tv", TV | {"weight": 0.5})
    whole = found(library, "tv", TV)
    share = {key: score / whole[key] for key, score in half.items()}
    assert share["television"] / share["tv"] == pytest.approx(0.5)
    assert {*found(library, "tv", TV | {"weight": 0})} == {"tv"}


def test_a_rare_synonym_counts_no_more_than_the_word(db: Database) -> None:
    db.rows("SELECT add_collection('c', 'english')")
    for number in range(20):
        text = f"a tv set here {number}"
        db.rows("SELECT ingest_document('c', %s, %s)", f"common {number}", text)
    db.rows("SELECT ingest_document('c', 'rare', 'a telly set here 20')")
    scores = found(db, "tv", {"words": ["tv", "telly"]})
    assert scores["rare"] == pytest.approx(scores["common 1"])


def test_an_unknown_word_with_a_synonym_is_not_put_right(library: Database) -> None:
    """The collection has no telly; without a synonym the fuzzy arm would look for what is alike."""
    told = {"words": ["televisio"], "to": ["tv"]}
    assert {*found(library, "televisio", fuzzy="on")} == set()
    call = "SELECT source_key, arms FROM hybrid_search('televisio', options => %s)"
    guessed = dict(library.rows(call, "{}"))
    assert guessed.keys() == {"television"}
    asked = dict(library.rows(call, json.dumps({"synonyms": [told]})))
    assert asked.keys() == {"tv"}
    assert asked["tv"].keys() == {"lexical"}


def test_fuzzy_words_and_synonyms_go_together(library: Database) -> None:
    call = "SELECT source_key, arms FROM hybrid_search('cheapst tv', options => %s)"
    rows = dict(library.rows(call, json.dumps({"synonyms": [TV]})))
    assert {"tv", "television"} <= rows.keys()
    assert "corrections" in rows["television"]["fuzzy"]


@pytest.mark.parametrize("level", ["chunk", "document"])
def test_a_row_says_what_the_words_stood_for(library: Database, level: str) -> None:
    options = json.dumps({"synonyms": [TV], "level": level})
    call = "SELECT source_key, arms, snippet FROM hybrid_search('a tv', options => %s)"
    rows = {key: (arms, snippet) for key, arms, snippet in library.rows(call, options)}
    assert rows["television"][0]["lexical"]["synonyms"] == {"TV": ["television"]}
    assert "<mark>televisions</mark>" in rows["television"][1]
    told = library.value("SELECT search_explain('a tv', options => %s)", options)
    assert told["results"][0]["arms"]["lexical"]["synonyms"] == {"TV": ["television"]}


def test_operators_hold_as_they_are(library: Database) -> None:
    assert {*found(library, '"tv"', TV)} == {"tv"}
    assert {*found(library, "tv -cheap", TV)} == {"tv"}


def test_each_collection_has_its_own_at_once(library: Database) -> None:
    call = "SELECT source_key FROM lexical_search('tv', options => '{\"strict\": true}')"
    for synonyms in ([TV], [], [{"words": ["tv", "marathon"]}]):
        library.rows("SELECT set_collection_settings('c', %s)", json.dumps({"synonyms": synonyms}))
        wanted = {text for one in synonyms for text in one["words"][1:]}
        expected = {"tv", *({"television"} & wanted), *({"long"} if "marathon" in wanted else ())}
        assert {*library.column(call)} == expected


def test_a_changed_configuration_is_seen(library: Database) -> None:
    """What a session keeps of synonyms goes with the configuration's version."""
    assert {*found(library, "TV", TV)} == {"tv", "television"}
    library.rows("ALTER TEXT SEARCH CONFIGURATION english ALTER MAPPING FOR asciiword WITH simple")
    assert {*found(library, "tv", TV)} == {"tv"}  # passages have the stem, synonyms no longer


def test_many_synonyms_cost_one_statement_a_language(library: Database) -> None:
    many = [{"words": [f"word{n}", f"other{n}"]} for n in range(500)]
    told = []
    for setting in ("log_min_duration = 0", "log_nested_statements = on", "log_level = notice"):
        library.rows(f"LOAD 'auto_explain'; SET auto_explain.{setting}")
    for synonyms in ([], [*many, CITY]):
        library.rows("SELECT set_collection_settings('c', %s)", json.dumps({"synonyms": synonyms}))
        for _ in range(3):
            library.notices.clear()
            library.rows("SELECT FROM lexical_search('cheap tv')")
        told.append([one for _, one in library.notices if str(one).startswith("duration")])
    assert len(told[1]) == len(told[0]) + 2, [str(one)[:200] for one in told[1]]
