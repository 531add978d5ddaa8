"""Corrections where two languages are searched: a known word is never taken for a misspelt one."""

import json
import random
from collections.abc import Callable

import psycopg
import pytest

from pgblend.plpy.lexical.configuration import question_words
from support.database import Database
from support.typo import misspell

pytestmark = pytest.mark.extended

PATIENT = json.dumps({"timeouts_ms": {"lexical": 60000}})
GERMAN_WORDS = """
Abfluss Absender Ampel Anhänger Antrag Armatur Aufzug Ausweis Bagger Balken Batterie Baustelle
Beamter Becken Beleg Bescheid Besen Beton Bezirk Birne Bohrer Bremse Brett Brille Brunnen Bürste
Dachrinne Decke Deckel Dichtung Diele Dübel Eimer Einfahrt Eisen Entwurf Erbe Fahrrad Fenster Feile
Feuerwehr Fliese Flur Flügel Fracht Fuge Gabel Garten Gebühr Gehweg Geländer Gerüst Gewinde Giebel
Griff Gurt Hahn Hammer Handwerk Haken Hebel Heizung Hof Holz Kabel Kachel Kamin Kanal Kanne Kelle
Keller Kessel Kette Kiste Klammer Klinke Koffer Kohle Kran Kreuzung Kübel Kupfer Lager Lampe Laterne
Leiter Leitung Linse Löffel Löschen Mauer Meißel Messer Miete Mörtel Mutter Nagel Naht Ofen Pacht
Pappe Pfanne Pfosten Pinsel Platte Pumpe Quittung Rahmen Rasen Rechen Regal Riegel Rinne Rohr Rolle
Rost Säge Schacht Schalter Scharnier Schaufel Scheibe Schiene Schlauch Schloss Schornstein Schraube
Schwelle Seil Sieb Sockel Spachtel Spaten Spiegel Stecker Stiege Strebe Stufe Tapete Teppich Tonne
Treppe Trichter Truhe Tülle Türen Ufer Ventil Vorhang Waage Wanne Werkbank Winkel Zange Zaun Ziegel
Zunge
"""
ENGLISH_WORDS = """
account address airport anchor apple arrow autumn balance banner barrel basket beacon bishop blanket
border bottle branch bridge bronze bucket budget butter cabin candle canvas carpet castle cattle
census chapel cherry circle clover coffee colony column copper corner cotton cradle cricket crystal
curtain customs dagger debate desert dinner dragon drawer eagle engine estate fabric falcon feather
ferry finger fisher flower forest fossil funnel garlic ginger glacier goblet guitar hammock harbour
hazel helmet honey hunter island ivory jacket jewel jungle kettle kitten ladder lantern lawyer lemon
lesson letter liquid lizard locket lumber magnet mammal marble market meadow medal member mercury
mirror monkey muscle museum needle nephew office olive orange orchid oxygen oyster palace parcel
parrot pebble pencil pepper pigeon pillow pirate planet plaster pocket poetry pottery powder prince
puzzle rabbit radish ribbon river rocket saddle salmon school season shadow shield silver singer
spider spirit stable statue summer sunset temple thunder ticket timber tunnel turkey valley velvet
village violin volcano walnut window winter wizard
"""
GERMAN, ENGLISH = GERMAN_WORDS.split(), ENGLISH_WORDS.split()
CODES = [f"{letter}{number}" for letter in "EKT" for number in range(400, 412)] + [
    f"{letters}-{number}" for letters in ("ERR", "BUG", "DIN") for number in range(8400, 8412)
]


@pytest.fixture(scope="module")
def both(module_connection: psycopg.Connection) -> Database:
    """Words of two languages and codes, each in a passage of its own."""
    db = Database(module_connection)
    db.rows("SELECT add_collection('both')")
    ranked = random.Random(5)
    for language, words, text in (
        ("german", GERMAN, "Bei dem Kunden {} liegt es seit Montag, sagte {}: {}"),
        ("english", ENGLISH, "The customer {} left it there on Monday, said {}: {}"),
        ("english", CODES, "The customer {} had an error on Monday, said {}: {}"),
    ):
        for word in words:
            names = ranked.choice(["Anna", "Omar", "Jan"]), ranked.choice(["Eva", "Tom"])
            db.rows(
                "SELECT ingest_document('both', %s, %s, language => %s)",
                word,
                text.format(*names, word),
                language,
            )
    for number in range(30):
        text = f"Bei Kunde {number} tropft das Ventil im Keller seit Montag"
        db.rows("SELECT ingest_document('both', %s, %s, language => 'german')", str(number), text)
    text = "The tropic storm passed the island on Monday; we want 1042 or 8400"
    db.rows("SELECT ingest_document('both', 'storm', %s, language => 'english')", text)
    return db


def found(db: Database, query: str) -> list[tuple[str, str, dict[str, list[str]]]]:
    """Return key, text and corrections of the first rows."""
    return db.rows(
        "SELECT source_key, content, arms #> '{fuzzy,corrections}'"
        " FROM hybrid_search(%s, 5, options => %s)",
        query,
        PATIENT,
    )


def misses(words: list[str], is_right: Callable[[str], bool]) -> list[str]:
    return [word for word in words if not is_right(word)]


@pytest.mark.parametrize("words", [GERMAN, ENGLISH, CODES], ids=["german", "english", "codes"])
def test_a_known_word_is_never_displaced(both: Database, words: list[str]) -> None:
    assert len(words) >= 72

    def is_first(word: str) -> bool:
        rows = found(both, word)
        return word in rows[0][1] and not any(corrected for *_, corrected in rows)

    assert misses(words, is_first) == []


def test_typos_are_still_put_right(both: Database) -> None:
    source = random.Random(11)
    for words in (GERMAN, ENGLISH):
        long = [word for word in words if len(word) > 5]
        lost = misses(
            long,
            lambda word: any(word in text for _, text, _ in found(both, misspell(word, source))),
        )
        assert len(lost) <= 0.1 * len(long), lost


@pytest.mark.parametrize(
    ("query", "first"),
    [("tropft", "tropft"), ("tropft Ventil", "tropft"), ("Keller tropft", "tropft")],
)
def test_a_word_of_one_language_is_not_corrected_in_another(
    both: Database, query: str, first: str
) -> None:
    rows = found(both, query)
    assert first in rows[0][1]
    assert not any(corrected for *_, corrected in rows)


@pytest.mark.parametrize("query", ["wann", "Wann tropft es", "über", "should"])
def test_stop_words_of_a_searched_language_are_not_corrected(both: Database, query: str) -> None:
    assert not any(corrected for *_, corrected in found(both, query))


@pytest.mark.parametrize("query", ["E499", "X400", "ERR-8499", "1043", "E40"])
def test_what_has_digits_is_corrected_to_no_other_digits(both: Database, query: str) -> None:
    own = "".join(filter(str.isdigit, query))
    for *_, corrected in found(both, query):
        for lexemes in (corrected or {}).values():
            assert {"".join(filter(str.isdigit, one)) for one in lexemes} <= {own, ""}


def test_a_corrected_word_does_not_outweigh_an_exact_one(both: Database) -> None:
    """Ventil stands in 31 passages, so its idf is low; the other word is in one.

    With a capital within it is two lexemes, cshornstein and shornstein, of one word.
    """
    for misspelt in ("Schornstien", "cShornstein"):
        rows = found(both, f"Ventil {misspelt}")
        assert "Ventil" in rows[0][1], misspelt
    assert any("Schornstein" in text for _, text, _ in found(both, "Schornstien"))


def test_a_short_text_with_a_corrected_word_does_not_outweigh_exact_ones(both: Database) -> None:
    """Its length alone would put it before longer ones."""
    both.rows("SELECT add_collection('bins', 'german')")
    for number in range(30):
        text = f"Bei Kunde {8400 + number} ist das Ventil undicht, wir kommen am Dienstag vorbei"
        both.rows("SELECT ingest_document('bins', %s, %s)", f"k{number}", text)
    both.rows("SELECT ingest_document('bins', 'bin', 'Die Tonne ist voll')")
    both.rows("SELECT ingest_document('bins', 'short', 'Kunde: Tonne voll')")
    search = "SELECT source_key, score FROM hybrid_search(%s, 2, ARRAY['bins'], options => %s)"
    for query in ("Kunde 8401 Tone", "8401 Tone", "Ventil 8401 Tone"):
        rows = both.rows(search, query, PATIENT)
        assert rows[0][0] == "k1", query
        assert rows[1][0] in ("bin", "short")
        assert rows[0][1] > rows[1][1]
    assert {key for key, _ in both.rows(search, "Tone", PATIENT)} == {"bin", "short"}


def test_the_nearest_word_of_any_language_is_the_correction(both: Database) -> None:
    """Not the nearest one that each language has: `horno` is four letters away from the typo."""
    both.rows("SELECT add_collection('kitchen')")
    for language, word, text in (
        ("spanish", "horno", "El cliente dejó el horno allí el lunes"),
        ("spanish", "botella", "El cliente dejó la botella allí el lunes"),
        ("english", "bottle", "The customer left the bottle there on Monday"),
        ("french", "horloge", "Chez le client il y a une horloge depuis lundi"),
        ("french", "cahier", "Chez le client il y a un cahier depuis lundi"),
        ("spanish", "cadena", "El cliente dejó la cadena allí el lunes"),
    ):
        both.rows("SELECT ingest_document('kitchen', %s, %s, language => %s)", word, text, language)
    search = "SELECT source_key FROM hybrid_search(%s, 1, ARRAY['kitchen'], options => %s)"
    typos = {"horlmoge": "horloge", "botalla": "botella", "caheir": "cahier"}
    assert {typo: both.value(search, typo, PATIENT) for typo in typos} == typos


def test_every_configuration_of_postgresql_has_question_words(both: Database) -> None:
    configs = both.column(
        "SELECT cfgname::text FROM pg_ts_config"
        " WHERE cfgnamespace = 'pg_catalog'::regnamespace AND cfgname <> 'simple'"
    )
    assert [config for config in configs if not question_words([config])] == []


def test_a_correction_in_one_language_does_not_outweigh_a_word_of_another(both: Database) -> None:
    rows = found(both, "Ventil pigoen")
    assert "Ventil" in rows[0][1]
    assert any("pigeon" in text for _, text, _ in found(both, "pigoen"))


QUESTION_WORDS = {
    "german": "wann warum wer wie wo was welche weshalb Wozu",
    "english": "who where Why which",
    "french": "quand où pourquoi comment",
    "spanish": "cuándo cuando dónde",
}
QUESTIONS = [
    (language, word) for language, words in QUESTION_WORDS.items() for word in words.split()
]


@pytest.fixture(scope="module")
def without_wanne(both: Database) -> Database:
    """Passages with words that are one letter away from question words."""
    near = "want wand warm barum wed wig woe was welch weshalt wozus whom whore whyte quanz"
    near += " pourquos commend cuandy donde dondy quant"
    for language in ("german", "english", "french", "spanish"):
        name, text = f"near_{language}", f"Montag {near} Lagos"
        both.rows("SELECT add_collection(%s)", name)
        both.rows("SELECT ingest_document(%s, 'a', %s, language => %s)", name, text, language)
    name = "near_german_english"
    both.rows("SELECT add_collection(%s)", name)
    both.rows("SELECT ingest_document(%s, 'a', 'We want a commend', language => 'english')", name)
    for key in ("b", "c"):
        text = "Bei Kunde tropft das Ventil"
        both.rows("SELECT ingest_document(%s, %s, %s, language => 'german')", name, key, text)
    return both


@pytest.mark.parametrize(("language", "word"), QUESTIONS)
def test_question_words_are_not_corrected(
    without_wanne: Database, language: str, word: str
) -> None:
    """PostgreSQL's stop lists lack most of them."""
    names = [f"near_{language}"] + ["near_german_english"] * (language == "german")
    for name in names:
        rows = without_wanne.rows(
            "SELECT arms #> '{fuzzy,corrections}'"
            " FROM hybrid_search(%s, 5, collections => %s, options => %s)",
            word,
            [name],
            PATIENT,
        )
        assert not any(corrected for (corrected,) in rows)
