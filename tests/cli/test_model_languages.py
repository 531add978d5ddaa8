"""A language that the model of the vectors does not know: told once at ingest, and by doctor."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result

from pgblend.cli.embed.spaces import knows_english_alone

Ingest = Callable[..., list[dict[str, str]]]
GERMAN = "Der Keller hat roten Wein aus Bordeaux und weißen Wein von der Loire in vielen Fässern."
ENGLISH = "The cellar holds red wine of Bordeaux and white wine of the Loire in many old barrels."
CHINESE = "地窖里存放着波尔多的红葡萄酒和卢瓦尔河的白葡萄酒。" * 4
GEORGIAN = "სარდაფში ინახება ბორდოს წითელი ღვინო და ლუარის თეთრი ღვინო ძველ კასრებში. " * 2
LATIN = "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, aliam Aquitani alii."


@pytest.fixture
def ingest(
    pgblend: Callable[..., Result], parse_valid: Callable[[Result, str], Any], tmp_path: Path
) -> Ingest:
    """Write texts by their files' names, ingest them; return what is said of languages."""

    def run(collection: str = "c", **texts: str) -> list[dict[str, str]]:
        folder = tmp_path / collection
        folder.mkdir(exist_ok=True)
        for name, text in texts.items():
            (folder / f"{name}.txt").write_text(text)
        result = pgblend("ingest", str(folder), "-c", collection, "--json", "--no-embed")
        report = parse_valid(result, "ingest-report")
        return [part for part in report["degraded"] if part["part"] == "languages"]

    return run


def make_space(connection: psycopg.Connection, model: str) -> None:
    connection.execute("SELECT blend.create_embedding_space('s', %s, 384, probe => false)", [model])


@pytest.mark.slow
def test_it_is_told_once_for_each_collection_and_language(
    ingest: Ingest, connection: psycopg.Connection
) -> None:
    make_space(connection, "local/all-minilm-l6-v2")
    assert ingest(a=ENGLISH) == []
    (said,) = ingest(b=GERMAN)
    assert said["reason"] == (
        "local/all-minilm-l6-v2, whose vectors searches use, does not know german in 'c'"
    )
    assert "pgblend space create multilingual --model local/multilingual-e5-small" in said["hint"]
    assert "pgblend space switch multilingual" in said["hint"]
    assert ingest(b2=GERMAN + GERMAN) == []
    (other,) = ingest(c=CHINESE, d=LATIN, e=GEORGIAN)
    assert "does not know other scripts in 'c', zh in 'c'" in other["reason"]
    (elsewhere,) = ingest("d", a=GERMAN, b=ENGLISH)
    assert "german in 'd'" in elsewhere["reason"]


def test_a_text_in_latin_letters_without_a_stemmer_is_not_told(
    ingest: Ingest, connection: psycopg.Connection
) -> None:
    make_space(connection, "local/all-minilm-l6-v2")
    assert ingest(a=LATIN) == []


@pytest.mark.extended
def test_nothing_is_told_of_a_model_that_knows_it_or_without_a_space(
    ingest: Ingest, connection: psycopg.Connection
) -> None:
    assert ingest(a=GERMAN) == []
    make_space(connection, "local/multilingual-e5-small")
    assert ingest("d", a=GERMAN, b=CHINESE) == []


def test_doctor_names_them_until_the_space_is_another(
    pgblend: Callable[..., Result], ingest: Ingest, connection: psycopg.Connection
) -> None:
    make_space(connection, "local/all-minilm-l6-v2")
    ingest(a=GERMAN, b=ENGLISH)
    found = pgblend("doctor").stdout
    assert "does not know german in 'c'" in found
    assert "pgblend space create multilingual" in found
    connection.execute("DELETE FROM pgblend_data.document WHERE source_key = 'a.txt'")
    assert "does not know" not in pgblend("doctor").stdout


@pytest.mark.parametrize(
    ("model", "alone"),
    [
        ("local/all-minilm-l6-v2", True),
        ("local/sentence-transformers/all-MiniLM-L12-v2", True),
        ("ollama/bge-small-en-v1.5", True),
        ("local/multilingual-e5-small", False),
        ("openai/text-embedding-3-small", False),
        ("ollama/encoder", False),
    ],
)
def test_models_that_know_english_alone(model: str, alone: bool) -> None:
    assert knows_english_alone(model) is alone
