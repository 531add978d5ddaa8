"""Words as people write them are found by words, and marked where they stand in the text."""

# ruff: noqa: RUF001 - signs that look like others are what this is about

import unicodedata
from html import unescape
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.database import Database

GIT = "After a rebase use git push --force to overwrite the branch on the server."
RANGE = "In 2019–2020 the non‑stick pan cost −20 euro; COVID‑19 closed the shop."
CAFE = "Im Café am Zürichsee trinkt Señora Müller Crème brûlée."
DOTS = (
    "This is the end.Next chapter is about foo.png and the Wi-Fi of node.js, ASP.NET, C++ and C#."
)
PROXY = (
    "The manual is at https://docs.canlore.example/setup/proxy-server?x=1&lang=de#ports for you."
)
CODE = (
    "def getUserById(user_id):\n    return parseHTMLResponse(user_id)\n\nclass HttpRequestHandler:"
)
LOG = "\x1b[2m2026-05-01\x1b[0m \x1b[31mERROR\x1b[0m \x1b[1mfrob\x1b[32mnicator\x1b[0m: disk "
LOG += "\x1b[33mquota\x1b[0m exceeded\x07, N\x08NA\x08AM\x08ME\x08E"
TEXTS = {
    "git": ("english", GIT),
    "push": ("english", "You can push a branch with git, never by force of habit."),
    "range": ("english", RANGE),
    "jar": ("english", "Start the program with java -jar app.jar and wait."),
    "coffee": ("english", "A cup of java is a cup of coffee from the island."),
    "island": ("english", "Java is an island with volcanoes, and a language."),
    "second": ("english", "Each login needs a second factor, which the phone shows."),
    "apart": ("english", "The factor that counts comes second; the first one is a password."),
    "cafe": ("german", unicodedata.normalize("NFD", CAFE)),
    "nfc": ("german", "Die Bäckerei Größl verkauft Brötchen und Süßes."),
    "concept": ("german", "Das Ge\u00adsamt\u00adkon\u00adzept der Do\u00adnau\u00adbrü\u00adcke."),
    "fibrin": ("english", "The aﬃnity of the ﬁbrin network is high; ﬂuorescence is aﬀected."),
    "wide": ("simple", "型番はＡＢＣ１２３です。ｶﾞｲﾄﾞを読む。"),
    "cat": ("simple", "私の猫は黒いです。毎日魚を食べます。"),
    "dog": ("simple", "隣の犬は大きいです。毎日散歩します。"),
    "alone": ("simple", "The 猫 museum in Osaka."),
    "korean": ("simple", "한국에서는 물을 마시고 밥을 먹는다."),
    "wrapped": ("simple", "この文書は何行もあるので、行末で用\n語が分かれて続く。"),
    "thai": ("simple", "ชาวประมงจับปูในทะเล"),
    "dots": ("english", DOTS),
    "proxy": ("english", PROXY),
    "code": ("english", CODE),
    "log": ("english", LOG),
    "firm": ("english", "Ask AT&T about it; H&M has shops."),
    "doctor": ("english", "She took her Ph.D. in the U.K., in physics."),
    "degree": ("english", "A PhD takes three years across the UK."),
    "rocket": ("english", "We shipped it 🚀 tonight, said the crew."),
    "thumb": ("english", "The reviewer answered 👍🏽 and left for 🇫🇷."),
    "plain": ("english", "INFO all is well, nothing to see"),
    "ist": ("turkish", "IŞIK evi KIZILTOPRAK semtinde, İSTANBUL."),
    "size": ("english", "The tank holds 1,250 l and the disk 10GB; orders by e-mail."),
    "masse": ("german", "Das Blech ist 3,5 mm stark und wiegt 1.250 kg oder 2\u202f000 kg."),
    "foule": ("french", "Une foule de 7 300 personnes attendait la fin."),
    "low": ("turkish", "ışık evi kızıltoprak semtinde, istanbul."),
}


@pytest.fixture(scope="module")
def library(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    db.rows("SELECT add_collection('c')")
    for key, (language, text) in TEXTS.items():
        db.rows("SELECT ingest_document('c', %s, %s, language => %s)", key, text, language)
    return db


def found(db: Database, query: str, **options: Any) -> dict[str, str]:
    """Return the snippets of what has a query's words, the best first, by key."""
    rows = db.rows(
        "SELECT source_key, snippet FROM lexical_search(%s, 9, options => %s)"
        " WHERE (arms #>> '{lexical,score}')::float8 > 0",
        query,
        Jsonb({"strict": True, "fuzzy": "off"} | options),
    )
    return dict(rows)


CASES = [
    ("git push --force", ["git", "push"], "--<mark>force</mark>"),
    ("how to git push --force", ["git", "push"], None),
    ("push --force branch", ["git", "push"], None),
    ("git push —force", ["git", "push"], None),  # as word processors write the dashes
    ("--force", ["git", "push"], None),
    ("java -coffee", ["island", "jar"], None),
    ("java -jar", ["jar", "island", "coffee"], None),
    ("java -j", ["island", "jar", "coffee"], None),
    ("-20 euro", ["range"], "−<mark>20</mark> <mark>euro</mark>"),
    ("2019-2020", ["range"], None),
    ("COVID-19", ["range"], "<mark>COVID</mark>‑<mark>19</mark>"),
    ("“second factor”", ["second"], None),
    ("„second factor“", ["second"], None),
    ("« second factor »", ["second"], None),
    ("‘second factor’", ["second"], None),
    ("(“second factor”)", ["second"], None),
    ("”factor password second", ["apart", "second"], None),  # it quotes nothing
    ("one’s second factor isn’t", ["apart", "second"], None),
    ("Café", ["cafe"], "<mark>Café</mark>"),
    ("cafe\u0301 zu\u0308richsee", ["cafe"], "<mark>Zürichsee</mark>"),
    ("Señora", ["cafe"], None),
    ("Bäckerei", ["nfc"], None),
    ("ba\u0308ckerei bro\u0308tchen", ["nfc"], "<mark>Brötchen</mark>"),
    ("Gesamtkonzept", ["concept"], "<mark>Ge\u00adsamt\u00adkon\u00adzept</mark>"),
    ("Do\u00adnaubrücke", ["concept"], None),
    ("affinity", ["fibrin"], "<mark>aﬃnity</mark>"),
    ("fluorescence affected fibrin", ["fibrin"], "<mark>ﬂuorescence</mark>"),
    ("ABC123", ["wide"], "<mark>ＡＢＣ１２３</mark>"),
    ("ガイド", ["wide"], "<mark>ｶﾞｲﾄﾞ</mark>"),
    ("猫", ["alone", "cat"], "<mark>猫</mark>"),
    ("魚", ["cat"], "毎日<mark>魚</mark>を"),
    ("犬", ["dog"], "隣の<mark>犬</mark>は"),
    ("用語", ["wrapped"], "<mark>用\n語</mark>が"),
    ('"用語が分かれて"', ["wrapped"], "<mark>用\n語が分かれて</mark>"),
    ("물", ["korean"], "<mark>물</mark>을"),
    ("ปู", ["thai"], "<mark>ปู</mark>"),
    ("canlore", ["proxy"], "docs.<mark>canlore</mark>.example"),
    (
        "docs.canlore.example",
        ["proxy"],
        "<mark>docs</mark>.<mark>canlore</mark>.<mark>example</mark>",
    ),
    ("foo", ["dots"], "<mark>foo</mark>.png"),
    ("png", ["dots"], None),
    ("node", ["dots"], None),
    ("node.js", ["dots"], "<mark>node</mark>.<mark>js</mark>"),
    ("NET", ["dots"], "ASP.<mark>NET</mark>"),
    ("Next", ["dots"], "end.<mark>Next</mark>"),
    ("end", ["dots"], "<mark>end</mark>.Next"),
    ("parse html response", ["code"], "<mark>parseHTMLResponse</mark>"),
    ("http request handler", ["code"], "<mark>HttpRequestHandler</mark>"),
    ("parseHTMLResponse", ["code"], "<mark>parseHTMLResponse</mark>"),
    ("parsehtmlresponse", ["code"], "<mark>parseHTMLResponse</mark>"),
    ("H&M", ["firm"], None),
    ("UK", ["degree", "doctor"], "the <mark>UK</mark>"),
    ("U.K. physics", ["doctor", "degree"], "<mark>U.K</mark>"),
    ("PhD", ["degree", "doctor"], None),
    ("Ph.D. physics", ["doctor", "degree"], None),
    ("ERROR", ["log"], "<mark>ERROR</mark> frobnicator"),
    ("frobnicator", ["log"], None),
    ('"disk quota exceeded"', ["log"], None),
    ("name", ["log"], ", <mark>NAME</mark>"),
    ("IŞIK", ["ist", "low"], "<mark>IŞIK</mark>"),
    ("ışık", ["ist", "low"], "<mark>IŞIK</mark>"),
    ("KIZILTOPRAK", ["ist", "low"], None),
    ("kızıltoprak", ["ist", "low"], None),
    ("10 GB", ["size"], "<mark>10GB</mark>"),
    ("1250", ["size", "masse"], "<mark>1,250</mark>"),
    ('"10 GB"', ["size"], None),
    ("3.5mm", ["masse"], "<mark>3,5</mark> <mark>mm</mark>"),
    ("2000 kg", ["masse"], "<mark>2\u202f000 kg</mark>"),
    ("7300", ["foule"], "<mark>7 300</mark>"),
    ("istanbul", ["ist", "low"], "<mark>İSTANBUL</mark>"),
]


@pytest.mark.parametrize(("query", "keys", "marked"), CASES)
def test_found_and_marked(
    library: Database, query: str, keys: list[str], marked: str | None
) -> None:
    snippets = found(library, query)
    # of passages alike in all that counts, the one that is first says nothing
    assert sorted(snippets) == sorted(keys)
    assert next(iter(snippets)) == keys[0] or keys[0] in ("ist", "island")
    if marked:
        composed = unicodedata.normalize("NFC", unescape(snippets[keys[0]]))
        assert unicodedata.normalize("NFC", marked) in composed


@pytest.mark.parametrize("query", ["AT&T", "who is at&t"])
def test_names_of_stop_words_joined_by_and(library: Database, query: str) -> None:
    assert list(found(library, query)) == ["firm"]


@pytest.mark.parametrize(
    ("query", "key"),
    [("🚀", "rocket"), ("👍", "thumb"), ("👍🏿", "thumb"), ("🇫🇷", "thumb"), ("crew 👍", "thumb"),
     ("answered 🚀", "rocket")],
)  # fmt: skip
def test_pictures_are_words(library: Database, query: str, key: str) -> None:
    assert key in found(library, query)


def test_other_pictures_find_nothing(library: Database) -> None:
    assert not found(library, "🎉")
    assert not found(library, "🇩🇪")


def test_compounds_meet_where_synonyms_say_so(library: Database) -> None:
    assert "size" not in found(library, "email")
    synonyms = [{"words": ["email", "e-mail"]}]
    assert list(found(library, "email", synonyms=synonyms)) == ["size"]


@pytest.mark.parametrize(
    ("query", "key"),
    [(query, keys[0]) for query, keys, _ in CASES if len(keys) == 1 and "’" not in query],
)
def test_by_literal_words(library: Database, query: str, key: str) -> None:
    assert key in found(library, query, lexical_method="ts_rank_cd")


def test_the_stored_text_stays(library: Database) -> None:
    texts = dict(
        library.rows("SELECT source_key, content FROM documents JOIN chunks USING (document_id)")
    )
    assert texts["cafe"] == TEXTS["cafe"][1]
    assert texts["concept"] == TEXTS["concept"][1]
    assert not any(sign in text for text in texts.values() for sign in "\x1b\x07\x08")
