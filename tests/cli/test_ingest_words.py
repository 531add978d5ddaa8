"""Words as people write them: files brought in by the command line, found by words alone."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli

WILD = Path(__file__).parents[1] / "wild"
FOLDERS = (
    "01_options_of_commands",
    "02_composed_and_decomposed",
    "05_words_of_one_character",
    "06_parts_of_hosts_and_files",
    "16_colour_codes",
    "27_curly_quotes",
    "28_parts_of_names_in_code",
)
# Collection, query, and the end of the key that comes first.
FIRST = [
    ("01", "git push --force", "git.txt"),
    ("01", "push --force branch", "git.txt"),
    *(("02", unicodedata.normalize(form, word), "cafe.txt")
      for form in ("NFC", "NFD") for word in ("Café", "Zürichsee", "Señora")),
    *(("02", unicodedata.normalize(form, word), "nfc.txt")
      for form in ("NFC", "NFD") for word in ("Bäckerei", "Brötchen")),
    ("05", "犬", "dog"),
    ("06", "canlore", "proxy.txt"),
    *(("06", word, "dots.txt") for word in ("foo", "png", "node", "NET", "Next", "end", "node.js")),
    *(("16", word, "build.log") for word in ("ERROR", "quota", "frobnicator")),
    ("16", '"disk quota exceeded"', "build.log"),
    ("27", "“second factor”", "second.txt"),
    *(("28", words, "users.py")
      for words in ("parse html response", "http request handler", "parseHTMLResponse")),
]  # fmt: skip


@pytest.fixture(scope="module")
def ingested(module_url: str) -> Iterator[psycopg.Connection]:
    """Each folder as a collection that is named after its number."""
    for folder in FOLDERS:
        told = CliRunner().invoke(
            cli,
            ["--database-url", module_url, "ingest", str(WILD / folder), "-c", folder[:2]],
        )
        assert told.exit_code == 0, told.output
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
