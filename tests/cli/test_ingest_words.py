"""Words as people write them: files brought in by the command line, found by words alone."""

# ruff: noqa: RUF001 - signs that look like others are what this is about

import json
import re
import unicodedata
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli

pytestmark = pytest.mark.extended

WILD = Path(__file__).parents[1] / "wild"
FOLDERS = (
    "01_options_of_commands",
    "02_composed_and_decomposed",
    "03_soft_hyphens",
    "04_ligatures",
    "05_words_of_one_character",
    "06_parts_of_hosts_and_files",
    "16_colour_codes",
    "27_curly_quotes",
    "28_parts_of_names_in_code",
)
FORMS = ("NFC", "NFD")
NAME = "Übersicht_Gebühren.md"
# Texts that no file of the folders has: two moments that are one, capitals of Turkish.
MOMENTS = [
    {"id": "z", "text": "The tide turned.", "when": "2025-02-03T12:45:46Z"},
    {"id": "p", "text": "The tide had turned.", "when": "2025-02-03T12:45:46+00:00"},
    {"id": "east", "text": "A tide in the east.", "when": "2025-02-03T14:45:46+02:00"},
    {"id": "later", "text": "The next tide.", "when": "2025-02-03T12:45:47Z"},
    {"id": "other", "text": "No tide at all.", "when": "2025-02-04"},
]
CAPITALS = {
    "ist.txt": "IŞIK evi KIZILTOPRAK semtinde, İSTANBUL.",
    "low.txt": "ışık evi kızıltoprak semtinde, istanbul.",
    "isik.txt": "isik evi kiziltoprak degil.",
}
# Collection, query, and the end of the key that comes first.
FIRST = [
    ("01", "git push --force", "git.txt"),
    ("01", "how to git push --force", "git.txt"),
    ("01", "push --force branch", "git.txt"),
    *(("01", word, "range.txt") for word in ("2019-2020", "-20 euro", "non-stick", "COVID-19")),
    *(("02", unicodedata.normalize(form, word), "cafe.txt")
      for form in FORMS for word in ("Café", "Zürichsee", "Señora", "Crème brûlée")),
    *(("02", unicodedata.normalize(form, word), "nfc.txt")
      for form in FORMS for word in ("Bäckerei", "Brötchen")),
    *(("02", unicodedata.normalize(form, word), unicodedata.normalize("NFD", NAME))
      for form in FORMS for word in (NAME, "Übersicht", "Gebühren")),
    *(("03", word, "concept.html") for word in ("Gesamtkonzept", "Donaubrücke", "angenommen")),
    *(("04", word, "fibrin.txt") for word in ("affinity", "fluorescence", "affected", "fibrin")),
    ("05", "犬", "dog"),
    ("05", "魚", "cat"),
    ("06", "canlore", "proxy.txt"),
    *(("06", word, "dots.txt") for word in ("foo", "png", "node", "NET", "Next", "end", "node.js")),
    *(("16", word, "build.log") for word in ("ERROR", "quota", "frobnicator")),
    ("16", '"disk quota exceeded"', "build.log"),
    ("27", "“second factor”", "second.txt"),
    *(("28", words, "users.py")
      for words in ("parse html response", "http request handler", "parseHTMLResponse")),
]  # fmt: skip


def _pgblend(url: str, *arguments: str) -> str:
    told = CliRunner().invoke(cli, ["--database-url", url, *arguments])
    assert told.exit_code == 0, told.output
    return told.stdout


@pytest.fixture(scope="module")
def ingested(
    module_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[psycopg.Connection]:
    """Each folder as a collection that is named after its number."""
    for folder in FOLDERS:
        _pgblend(module_url, "ingest", str(WILD / folder), "-c", folder[:2])
    moments = tmp_path_factory.mktemp("moments") / "moments.jsonl"
    moments.write_text("\n".join(map(json.dumps, MOMENTS)))
    _pgblend(module_url, "ingest", str(moments), "-c", "21")
    capitals = tmp_path_factory.mktemp("capitals")
    for name, text in CAPITALS.items():
        (capitals / name).write_text(text)
    _pgblend(module_url, "ingest", str(capitals), "-c", "26", "--text-config", "turkish")
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield connection


def _strict(connection: psycopg.Connection, collection: str, query: str) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT source_key, snippet FROM blend.lexical_search(%s, 3, ARRAY[%s],"
        " options => '{\"strict\": true}')",
        [query, collection],
    ).fetchall()


@pytest.mark.parametrize(("collection", "query", "key"), FIRST)
def test_it_is_first_by_words(
    ingested: psycopg.Connection, collection: str, query: str, key: str
) -> None:
    rows = _strict(ingested, collection, query)
    assert rows, query
    assert rows[0][0].endswith(key)
    assert "\x1b" not in "".join(snippet for _, snippet in rows)


def test_each_that_has_the_word_is_found(ingested: psycopg.Connection) -> None:
    assert len(_strict(ingested, "16", "INFO")) == 2
    assert "cat" in "".join(key for key, _ in _strict(ingested, "05", "猫"))
    assert [key for key, _ in _strict(ingested, "27", "“second factor”")] == [
        key for key, _ in _strict(ingested, "27", '"second factor"')
    ]
    stored = "SELECT count(*) FROM pgblend_data.chunk WHERE content LIKE '%' || chr(27) || '%'"
    assert ingested.execute(stored).fetchone() == (0,)


def test_details_name_what_words_exclude(ingested: psycopg.Connection) -> None:
    details = "SELECT details -> 'excluded' FROM blend.lexical_search(%s, 3, ARRAY['06'])"
    assert ingested.execute(details, ["node -zebra"]).fetchone() == (["zebra"],)
    assert ingested.execute(details, ["node"]).fetchone() == (None,)


def _marked(connection: psycopg.Connection, collection: str, query: str) -> str:
    """Return what the first snippet marks, in one form and without soft hyphens."""
    snippet = unescape(_strict(connection, collection, query)[0][1]).replace("\u00ad", "")
    return " ".join(
        re.findall("<mark>(.*?)</mark>", unicodedata.normalize("NFKC", snippet), re.DOTALL)
    )


@pytest.mark.parametrize(
    ("collection", "query", "marked"),
    [
        ("01", "git push --force", "git push force"),
        *(("02", unicodedata.normalize(form, word), word)
          for form in FORMS for word in ("Café", "Zürichsee", "Bäckerei")),
        *(("03", word, word) for word in ("Gesamtkonzept", "Donaubrücke", "angenommen")),
        *(("04", word, word) for word in ("affinity", "fluorescence", "affected")),
        *(("05", word, word) for word in ("魚", "犬")),
    ],
)  # fmt: skip
def test_it_is_marked_where_it_stands(
    ingested: psycopg.Connection, collection: str, query: str, marked: str
) -> None:
    assert _marked(ingested, collection, query) == marked


def test_texts_are_stored_as_files_have_them(ingested: psycopg.Connection) -> None:
    cafe = WILD / "02_composed_and_decomposed" / "cafe.txt"
    fibrin = WILD / "04_ligatures" / "fibrin.txt"
    texts = dict(ingested.execute(
        "SELECT source_key, content FROM blend.documents JOIN blend.chunks USING (document_id)"
    ).fetchall())  # fmt: skip
    assert texts["cafe.txt"] == cafe.read_text().strip()
    assert texts["fibrin.txt"] == fibrin.read_text().strip()
    assert "Ge\u00adsamt" in texts["concept.html"]


@pytest.mark.parametrize("query", ["IŞIK", "ışık", "KIZILTOPRAK", "kızıltoprak", "İSTANBUL"])
def test_capitals_of_turkish(ingested: psycopg.Connection, query: str) -> None:
    rows = _strict(ingested, "26", query)
    assert sorted(key for key, _ in rows[:2]) == ["ist.txt", "low.txt"]


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("2025-02-03T12:45:46Z", "east p z"),
        ({"eq": "2025-02-03T13:45:46+01:00"}, "east p z"),
        ({"in": ["2025-02-03T12:45:46+00:00"]}, "east p z"),
        ({"gte": "2025-02-03T12:45:46Z", "lte": "2025-02-03T12:45:46Z"}, "east p z"),
        ({"ne": "2025-02-03T12:45:46Z"}, "later other"),
        ("2025-02-03", "east later p z"),
        ({"in": ["2025-02-04", "2025-02-03T12:45:47+00:00"]}, "later other"),
    ],
)
def test_moments_are_equal_when_they_are_one(
    ingested: psycopg.Connection, module_url: str, condition: object, keys: str
) -> None:
    told = _pgblend(
        module_url, "query", "tide", "-c", "21", "--option", 'dedup="off"', "--json",
        "--filter", json.dumps({"when": condition}),
    )  # fmt: skip
    found = [row["source_key"] for row in json.loads(told)["results"]]
    assert sorted(key.rsplit("#")[-1] for key in found) == keys.split()
