"""Each kind of word, as people write it, is found in each place that has words."""

# ruff: noqa: RUF001 - signs that look like others are what this is about

import unicodedata
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.database import Database

# What a text has, in which language, and how somebody else writes it.
KINDS = {
    "option": ("english", "push --force", "push --force"),
    "decomposed": ("german", unicodedata.normalize("NFD", "Bäckerei"), "Bäckerei"),
    "composed": ("german", "Größenwahn", unicodedata.normalize("NFD", "Größenwahn")),
    "soft hyphen": ("german", "Gesamt\u00adkonzept", "Gesamtkonzept"),
    "ligature": ("english", "aﬃnity", "affinity"),
    "wide": ("simple", "ＡＢＣ１２３", "ABC123"),
    "capitals": ("turkish", "IŞIK", "ışık"),
    "host": ("english", "docs.canlore.example", "canlore"),
    "camel": ("english", "parseHTMLResponse", "parse html response"),
    "character": ("simple", "私の猫は", "猫"),
    "number": ("english", "1,250", "1250"),
    "unit": ("english", "10GB", "10 GB"),
    "version": ("english", "v2.17", "2.17"),
    "bare version": ("english", "4.19", "v4.19"),
    "number of a name": ("english", "falcon7.5", "falcon 7.5"),
    "parted": ("german", "ZX-81", "zx81"),
    "joined": ("english", "vc20", "VC-20"),
    "spaced": ("simple", "Norm 66203", "norm66203"),
}
# Where one text is a part of the other once both are in one form of Unicode.
FORMS = ["decomposed", "composed", "soft hyphen", "ligature", "wide", "character"]
PLACES = ["body", "title", "heading"]


@pytest.fixture(scope="module")
def library(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    db.rows("SELECT add_collection('c')")
    for kind, (language, text, _) in KINDS.items():
        texts = {
            "body": ("", f"a {text} b"),
            "title": (text, "q"),
            "heading": ("", f"# {text}\n\nq"),
        }
        for place, (title, content) in texts.items():
            values = f"{kind} {place}", content, title, language
            db.rows("SELECT ingest_document('c', %s, %s, title => %s, language => %s)", *values)
        values = f"folder/{text}.md", "r", language
        db.rows("SELECT ingest_document('c', %s, %s, language => %s)", *values)
    return db


def found(db: Database, query: str, filter_: Any = None, **options: Any) -> dict[str, str]:
    """Return the snippets of what words alone find, by key."""
    return dict(
        db.rows(
            "SELECT source_key, snippet FROM lexical_search(%s, 99, filter => %s, options => %s)",
            query,
            None if filter_ is None else Jsonb(filter_),
            Jsonb({"strict": True, "fuzzy": "off"} | options),
        )
    )


def places(kind: str) -> set[str]:
    return {f"{kind} {place}" for place in PLACES}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options", [{}, {"level": "document"}, {"lexical_method": "ts_rank_cd"}], ids=str
)
def test_in_texts_titles_and_headings(library: Database, kind: str, options: Any) -> None:
    wanted = {f"{kind} body"} if "lexical_method" in options else places(kind)
    snippets = found(library, KINDS[kind][2], **options)
    assert wanted <= {*snippets}
    assert "<mark>" in snippets[f"{kind} body"]
    assert all(key.startswith(kind) or key.startswith("folder/") for key in snippets)


@pytest.mark.parametrize("kind", KINDS)
def test_as_phrase(library: Database, kind: str) -> None:
    assert places(kind) <= {*found(library, f'"{KINDS[kind][2]}"')}


@pytest.mark.parametrize("kind", KINDS)
def test_excluded(library: Database, kind: str) -> None:
    text = KINDS[kind][2]
    assert not places(kind) & {*found(library, f'{text} -"{text}"')}


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("option", "number", "unit", "bare version")]
)
def test_in_names_of_files(library: Database, kind: str) -> None:
    _, text, asked = KINDS[kind]
    assert f"folder/{text}.md" in found(library, asked)


@pytest.mark.parametrize("kind", KINDS)
def test_in_synonyms(library: Database, kind: str) -> None:
    _, text, asked = KINDS[kind]
    for word in (text, asked):
        assert f"{kind} body" in found(
            library, "zork", synonyms=[{"words": ["zork"], "to": [word]}]
        )
    stands_for = {"words": [text if kind != "host" else asked], "to": ["zork q"]}
    assert f"{kind} title" in found(library, asked, synonyms=[stands_for])


@pytest.mark.parametrize("kind", [*FORMS, "capitals", "unit", "number"])
def test_in_patterns_of_rules(library: Database, kind: str) -> None:
    _, text, asked = KINDS[kind]
    whole = text if kind != "character" else asked
    for pattern, query in ((f"*{whole}*", f"x {asked} y"), (f"*{asked}*", f"x {text} y")):
        rule = {"query": pattern, "documents": ["camel body"]}
        assert "camel body" not in found(library, query)
        first, *_ = found(library, query, pinned=[rule])
        assert first == "camel body"


@pytest.mark.parametrize("kind", FORMS)
def test_in_filters(library: Database, kind: str) -> None:
    _, text, asked = KINDS[kind]
    kept = found(library, "q", {"$title": {"contains": asked}})
    assert {*kept} == {f"{kind} title"}
    key = f"folder/{asked}.md"
    if kind.endswith("composed"):  # as file names are decomposed on a Mac
        for given in (key, {"in": ["x", key]}, {"prefix": key[:-3]}, {"contains": asked}):
            assert {*found(library, "r", {"$source_key": given})} == {f"folder/{text}.md"}


@pytest.mark.parametrize(
    ("query", "key"),
    [
        (unicodedata.normalize("NFD", "Bäckerrei"), "decomposed body"),
        ("Gesamtkonzebt", "soft hyphen body"),
        ("Grösenwahn", "composed body"),
        ("afinity", "ligature body"),
        ("canlori", "host body"),
        ("parsehtmlrespons", "camel body"),
        ("--forse", "option body"),
    ],
)
def test_misspelt(library: Database, query: str, key: str) -> None:
    rows = library.rows("SELECT source_key FROM fuzzy_search(%s, 99)", query)
    assert (key,) in rows


@pytest.mark.parametrize("kind", [*FORMS[:-1], "capitals"])
def test_by_similarity(library: Database, kind: str) -> None:
    options = Jsonb({"fuzzy": "on", "fuzzy_method": "word_similarity"})
    rows = library.rows(
        "SELECT source_key FROM fuzzy_search(%s, 99, options => %s)", KINDS[kind][2], options
    )
    assert (f"{kind} body",) in rows


@pytest.mark.parametrize("kind", KINDS)
def test_in_contexts(library: Database, kind: str) -> None:
    query = "SELECT get_context(%s, options => %s)::text"
    options = Jsonb({"mode": "fast", "weights": {"vector": 0}})
    assert KINDS[kind][1] in library.value(query, KINDS[kind][2], options)
