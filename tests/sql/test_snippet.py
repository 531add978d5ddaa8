# ruff: noqa: RUF001
import random
import re

import pytest

from pgblend.plpy.lexical.configuration import KEEP_ALL_LETTERS, KEEP_ASCII, beginning_of, folded
from support.database import Database, add_documents


def snippet(db: Database, content: str, query: str | None, config: str = "english") -> str:
    """The snippet of one passage."""
    call = "SELECT pgblend._snippets(ARRAY[%s], ARRAY[%s]::text[], ARRAY[%s])"
    return str(db.value(call, content, query, config)[0])


@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        ("a fox runs", "foxes", "a <mark>fox</mark> runs"),
        ("a fox runs", "the", "a fox runs"),
        ("a fox runs", "cat", "a fox runs"),
        ("a fox runs", None, "a fox runs"),
        ("", "fox", ""),
        (
            '<script>alert("fox & dog")</script>',
            "fox",
            "&lt;script&gt;alert(&quot;<mark>fox</mark> &amp; dog&quot;)&lt;/script&gt;",
        ),
        ("a <mark>cat</mark>", "fox", "a &lt;mark&gt;cat&lt;/mark&gt;"),
        ("a <b>fox</b>", "fox", "a &lt;b&gt;<mark>fox</mark>&lt;/b&gt;"),
        ("no \ue000mark\ue001 for a fox", "fox", "no \ue000mark\ue001 for a <mark>fox</mark>"),
        ("fox -brown", '"fox" -brown', "<mark>fox</mark> -brown"),
        ("&lt;fox&gt;", "fox", "&amp;lt;<mark>fox</mark>&amp;gt;"),
    ],
)
def test_marked_and_escaped(db: Database, content: str, query: str | None, expected: str) -> None:
    assert (
        db.value(
            "SELECT (pgblend._snippets(ARRAY[%s], ARRAY[%s]::text[], '{english}'))[1]",
            content,
            query,
        )
        == expected
    )


def test_a_long_text_is_cut_around_the_words(db: Database) -> None:
    content = "before " * 300 + "fox " + "after " * 300
    text = snippet(db, content, "fox")
    assert text.startswith("before before")
    assert "before <mark>fox</mark> after" in text
    assert text.endswith("after after")
    assert 230 < len(text.replace("<mark>", "").replace("</mark>", "")) <= 250
    assert snippet(db, content, "the") == " ".join(["before"] * 35)


def test_a_whole_phrase_is_shown(db: Database) -> None:
    content = "a fox and a red hen " + "before " * 100 + "the red fox"
    shown = "before the <mark>red</mark> <mark>fox</mark>"
    assert snippet(db, content, '"red fox"').endswith(shown)


def test_no_notices(db: Database) -> None:
    db.rows(
        "SELECT (pgblend._snippets(ARRAY[%s], ARRAY[%s]::text[], '{english}'))[1]",
        "x" * 3000,
        "the " + "y" * 3000,
    )
    assert db.notices == []


@pytest.mark.parametrize("length", [2000, 3000, 20_000])
def test_long_words_of_a_found_passage_raise_no_notice(db: Database, length: int) -> None:
    db.rows("SELECT add_collection('c')")
    text = f"a fox {'x' * length} runs"
    db.rows("SELECT ingest_document('c', 'k', %s)", text)
    db.notices.clear()
    found = db.value("SELECT snippet FROM hybrid_search(%s)", f"fox {'y' * length}")
    assert found.startswith("a <mark>fox</mark> xxx")
    assert len(found) < 600
    assert all("too long" not in str(notice) for notice in db.notices)


@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        ("an élan of Élan", "elan", "an <mark>élan</mark> of <mark>Élan</mark>"),
        ("an elan", "élan", "an <mark>elan</mark>"),
        ("a naïve hôtel", "naive hotels", "a <mark>naïve</mark> <mark>hôtel</mark>"),
    ],
)
def test_accents_are_left_out(db: Database, content: str, query: str, expected: str) -> None:
    db.rows("CREATE EXTENSION IF NOT EXISTS unaccent")
    db.rows("SELECT create_unaccent_config('english')")
    assert snippet(db, content, query, "english_unaccent") == expected


@pytest.mark.parametrize(
    ("content", "query", "config", "expected"),
    [
        ("Ёлки у елки", "ёлка", "russian", "<mark>Ёлки</mark> у <mark>елки</mark>"),
        ("В СОБОРАХ", "собор", "russian", "В <mark>СОБОРАХ</mark>"),
        ("ΟΔΟΣ, οδοσ", "οδοσ", "simple", "<mark>ΟΔΟΣ</mark>, <mark>οδοσ</mark>"),
        ("السيارة", "سيارة", "arabic", "<mark>السيارة</mark>"),
        ("लड़कियों की", "लड़की", "hindi", "<mark>लड़कियों</mark> की"),
    ],
)
def test_other_scripts(db: Database, content: str, query: str, config: str, expected: str) -> None:
    assert snippet(db, content, query, config) == expected


def test_an_altered_configuration_is_seen(db: Database) -> None:
    db.rows("CREATE TEXT SEARCH DICTIONARY own (TEMPLATE = simple, STOPWORDS = english)")
    db.rows("CREATE TEXT SEARCH CONFIGURATION own (COPY = english)")
    assert snippet(db, "a fox", "foxes", "own") == "a <mark>fox</mark>"
    alter = "ALTER TEXT SEARCH CONFIGURATION own ALTER MAPPING REPLACE english_stem WITH"
    db.rows(f"{alter} own")
    assert snippet(db, "a fox", "foxes", "own") == "a fox"
    assert snippet(db, "the fox", "the fox", "own") == "the <mark>fox</mark>"
    db.rows("ALTER TEXT SEARCH DICTIONARY own (STOPWORDS)")
    assert snippet(db, "the fox", "the fox", "own") == "<mark>the</mark> <mark>fox</mark>"
    db.rows("DROP TEXT SEARCH CONFIGURATION own")
    assert snippet(db, "a fox", "foxes", "own") == "a fox"


def test_a_search_sees_an_altered_configuration(db: Database) -> None:
    db.rows("CREATE TEXT SEARCH CONFIGURATION own (COPY = english)")
    db.rows("SELECT add_collection('c', 'own')")
    db.rows("SELECT ingest_document('c', 'k', 'a fox and foxes')")
    call = "SELECT snippet FROM lexical_search('fox')"
    assert db.value(call) == "a <mark>fox</mark> and <mark>foxes</mark>"
    db.rows("ALTER TEXT SEARCH CONFIGURATION own ALTER MAPPING REPLACE english_stem WITH simple")
    assert db.value(call) == "a <mark>fox</mark> and foxes"


ENDINGS = [
    *("", "s", "es", "ed", "ing", "ings", "ingly", "ly", "y", "ies", "ied", "ying", "ie", "er"),
    *("ers", "est", "ness", "ization", "ational", "fully", "ement", "ements", "ities", "ity"),
    *("ication", "emment", "amment", "euse", "issait", "ation", "ungen", "heit", "heiten"),
    *("isch", "lich", "chen", "mente", "zione", "ando", "ebbero", "iamo", "ciones", "ndo"),
    *("heden", "ende", "erne", "elser", "ene", "arna", "het", "ok", "ban", "nak", "tatea"),
    *("ului", "ilor", "esti", "avom", "amos", "avel", "iais", "aus", "iai", "uose", "eux"),
]


OWN_ENDINGS = {
    "armenian": "ներ|ների|ներով|ություն|ական|եցին|ում|ել|ալ|ված",
    "danish": "løst",
    "hindi": "ा|ी|े|ों|ियों|ना|ने|ता|ती|ते|ाएं|कर|ाओगे|ूंगा|ाइयाँ",
    "hungarian": "ával|éval|á|é|ák|ék|ának|ében|ától|ért|ként|íg|űl|ötök",
    "nepali": "हरू|ले|लाई|को|का|की|मा|बाट|छ|छन्|एको|नेछ",
    "russian": "а|я|ы|и|ов|ев|ами|ями|ость|остью|ение|ениями|ывать|ывшись|ейше|нный|ённый|ёт|ешь",
    "swedish": "lös|fullt|löst",
}
LATIN = "aeiouybcdfghklmnprstvwz"
# Letters of words whose beginnings are kept by those that keep them in any script.
ALL_LETTERS = (
    LATIN,
    "aeiouyåäæöøüõãáéíóúàèìòùâêîôûçñčšžąęėįųūőűßbdgklmnprstv",
    "абвгдеёжзийклмнопрстуфхцчшщъыьэюяАБВГДЕЁЖЗИЙ",
    "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΣΩ",
    "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ",
    "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसहािीुूेैोौंँ़्",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stemmer", "scripts"),
    [
        *((one, (LATIN,)) for one in re.findall(r"\w+", KEEP_ASCII)),
        *((one, ALL_LETTERS) for one in re.findall(r"\w+", KEEP_ALL_LETTERS)),
        ("german", (LATIN,)),
    ],
)
def test_trusted_stemmers_keep_how_words_begin(
    db: Database, stemmer: str, scripts: tuple[str, ...]
) -> None:
    """The dictionary is asked; the same was tried on 247,000 words of texts."""
    if stemmer == "german" and db.connection.info.server_version >= 180_000:
        pytest.skip("the German stemmer takes ae for ä since 18, and is not trusted there")
    chance = random.Random(5)
    stems = {
        "".join(chance.choices(letters, k=length))
        for letters in scripts
        for length in range(1, 6)
        for _ in range(60 if letters == LATIN else 20)
    } | {"d", "l", "t", "sk", "earl", "ugl", "styl", "nation", "appl", "expl"}
    endings = [*ENDINGS, *OWN_ENDINGS.get(stemmer, "").split("|")]
    words = [stem + ending for stem in sorted(stems) for ending in endings]
    found = db.rows(
        "SELECT w, l FROM unnest(%s::text[]) AS w, unnest(ts_lexize(%s, w)) AS l",
        words,
        f"{stemmer}_stem",
    )
    assert len(found) > len(words) / 2
    changed = [pair for pair in found if not folded(pair[0]).startswith(beginning_of(pair[1]))]
    assert not changed


def test_german_words_that_are_written_without_umlauts_are_marked(db: Database) -> None:
    """From 18 on the stemmer makes haus of haeuser."""
    (haeuser,) = db.column("SELECT ts_lexize('german_stem', 'haeuser')")
    db.rows("SELECT add_collection('c', 'german')")
    add_documents(db, "c", [("1", "", "Alle haeuser der Stadt")])
    word = "Häuser" if haeuser == ["haus"] else "Haeuser"
    (snippet,) = db.column("SELECT snippet FROM lexical_search(%s)", word)
    assert "<mark>haeuser</mark>" in snippet
