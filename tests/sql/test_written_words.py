"""A judged set of what people type and store: each query has the one passage that it means.

Its words are in that passage, near misses stand beside it: by words the passage is the first.
"""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.database import Database

DATA = Path(__file__).parent / "data"
SETS = {
    name: json.loads((DATA / f"written_{name}.json").read_text()) for name in ("words", "names")
}
SET = SETS["words"]


@pytest.fixture(scope="module")
def library(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    ingest = "SELECT ingest_document(%s, %s, %s, language => %s)"
    for name, of_name in SETS.items():
        db.rows("SELECT add_collection(%s)", name)
        for key, passage in of_name["passages"].items():
            db.rows(ingest, name, key, passage["text"], passage["language"])
    return db


Ranked = dict[tuple[str, str], tuple[str, list[str]]]  # the best keys, by kind and query


def ranked(db: Database, search: str, options: str) -> Ranked:
    """Return the passage that is meant, and the ten that came."""
    statement = f"SELECT source_key FROM {search}(%s, 10, %s, options => %s)"
    return {
        (kind, query): (key, db.column(statement, query, [name], options))
        for name, of_name in SETS.items()
        for kind, queries in of_name["kinds"].items()
        for query, key in queries
    }


def test_the_set_is_large_enough() -> None:
    assert sum(map(len, SET["kinds"].values())) >= 120
    assert len(SET["kinds"]) >= 12
    assert {passage["language"] for passage in SET["passages"].values()} >= {
        "english", "french", "german", "greek", "russian", "simple", "spanish", "turkish"
    }  # fmt: skip


def test_by_words_what_is_meant_comes_first(library: Database) -> None:
    found = ranked(library, "lexical_search", '{"strict": true}')
    missed = {asked: came for asked, came in found.items() if came[1][:1] != [came[0]]}
    assert not missed, missed


def test_so_it_does_by_the_default_profile(library: Database) -> None:
    found = ranked(library, "hybrid_search", "{}")
    missed = {asked: came for asked, came in found.items() if came[1][:1] != [came[0]]}
    assert not missed, missed


@pytest.mark.parametrize(
    "name",
    ["e7", "h265", "fablejs", "slog4k", "OSTA", "X.Q.R.A.", "2031-05-17", "🚀"],
)
def test_phrases_and_exclusions_have_all_spellings(library: Database, name: str) -> None:
    (key,) = {
        key
        for queries in SETS["names"]["kinds"].values()
        for query, key in queries
        if query == name
    }
    statement = "SELECT source_key, snippet FROM lexical_search(%s, 20, '{names}', options => %s)"

    def found(query: str, **options: Any) -> dict[str, str]:
        return dict(library.rows(statement, query, json.dumps({"strict": True, **options})))

    assert list(found(f'"{name}"')) == [key]
    assert list(found(name, lexical_method="ts_rank_cd")) == [key]
    assert key in found("encoder service delegates Datei rows")
    assert key not in found(f"encoder service delegates Datei rows -{name}")
    assert "<mark>" in found(name)[key]


def test_pictures_are_synonyms(library: Database) -> None:
    pairs = [{"words": ["🚀", "zeppelin"]}, {"words": ["🎉", "kermesse"]}]
    options = json.dumps({"strict": True, "synonyms": pairs})
    statement = "SELECT source_key FROM lexical_search(%s, 10, '{names}', options => %s)"
    for query, key in (("zeppelin", "picture-en"), ("kermesse", "picture-fr")):
        assert library.column(statement, query, options) == [key]
    assert set(library.column(statement, "🚀 or 🎉", options)) == {"picture-en", "picture-fr"}
