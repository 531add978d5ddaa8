"""What a text search configuration makes of words, as the session remembers it."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from pgblend.plpy.base.session import Database, keep_value
from pgblend.plpy.lexical.forms import beyond_ascii, pictures
from pgblend.plpy.lexical.spellings import spelt_anew
from pgblend.plpy.lexical.words import indexable_text

_LONGEST = 250  # characters
_MOST_WORDS = 10_000
_MOST_CONFIGURATIONS = 10
_FEW_SIGNS = 8  # beyond ASCII, for which the text is not looked through one by one
CONFIG = """
FROM pg_catalog.pg_ts_config AS t
WHERE t.cfgname = {name} AND pg_catalog.pg_ts_config_is_visible(t.oid)"""
VERSION_OF_ROW = """concat_ws(
    ' ',
    t.oid,
    (SELECT bit_xor(hashtid(m.ctid) # hashtext(m.xmin::text))
    FROM pg_catalog.pg_ts_config_map AS m WHERE m.mapcfg = t.oid),
    (SELECT bit_xor(hashtid(d.ctid) # hashtext(d.xmin::text)) FROM pg_catalog.pg_ts_dict AS d))"""
VERSION = f"SELECT {VERSION_OF_ROW} AS version {CONFIG}"
"""Changes with the configuration called {name}, its mappings and any dictionary."""

_LEXEMES = rf"""
SELECT ARRAY(
    SELECT array_to_string(tsvector_to_array(to_tsvector(t.oid::regconfig, w.word)), E'\n')
    FROM unnest($2) WITH ORDINALITY AS w (word, place) ORDER BY w.place) AS lexemes
{CONFIG.format(name="$1")}"""
_MEANING = f"""
SELECT {VERSION_OF_ROW} AS version, tsvector_to_array(to_tsvector(t.oid::regconfig, $2)) AS lexemes
{CONFIG.format(name="$1")}"""
# These keep how words begin, as beginning_of says; others change that.
KEEP_ALL_LETTERS = """
    'armenian', 'basque', 'danish', 'english', 'hindi', 'hungarian', 'nepali', 'norwegian',
    'russian', 'swedish'"""
KEEP_ASCII = """
    'catalan', 'dutch', 'french', 'italian', 'lithuanian', 'portuguese', 'romanian', 'spanish'"""
_KEEPS_BEGINNINGS = rf"""
SELECT
    coalesce(bool_and(k.kind IN ('simple', {KEEP_ALL_LETTERS})), TRUE) AS keeps_all,
    coalesce(bool_and(
        k.kind IN ('simple', 'unaccent', {KEEP_ALL_LETTERS}, {KEEP_ASCII})
        -- From 18 on its stemmer takes ae for ä.
        OR k.kind = 'german' AND current_setting('server_version_num')::int < 180000
    ), TRUE) AS keeps_ascii
FROM pg_catalog.pg_ts_config_map AS m
INNER JOIN pg_catalog.pg_ts_dict AS d ON d.oid = m.mapdict
INNER JOIN pg_catalog.pg_ts_template AS p ON p.oid = d.dicttemplate
CROSS JOIN LATERAL (SELECT CASE WHEN p.tmplname <> 'snowball' THEN p.tmplname::text
    ELSE substring(d.dictinitoption, '\mlanguage = ''(\w+)''') END AS kind) AS k
WHERE m.mapcfg = (SELECT t.oid {CONFIG.format(name="$1")})"""


class Meaning(NamedTuple):
    """The lexemes that a query looks for in a configuration, and the configuration's version."""

    version: str
    lexemes: Sequence[str]


class Vocabulary:
    """The lexemes of words and the words of lexemes, in one version of a configuration.

    `keeps_ascii`: words of ASCII begin as their lexemes do (beginning_of); `keeps_all`: all do.
    """

    def __init__(self, version: str, *, keeps_ascii: bool, keeps_all: bool) -> None:
        self.version, self.keeps_ascii, self.keeps_all = version, keeps_ascii, keeps_all
        self.lexemes: dict[str, Sequence[str]] = {}
        self.words: dict[str, set[str]] = {}


def read_meaning(db: Database, config_name: str, words: str) -> Meaning:
    """Return what words look for, in all spellings; without words or the configuration nothing."""
    if len(words) > _LONGEST:
        words = " ".join(word[:_LONGEST] for word in words.split())
    asked = indexable_text(" ".join([words, *spelt_anew(words)]), config_name)
    rows = db.run(_MEANING, ["text", "text"], config_name, asked) if asked.strip() else ()
    if not rows:
        return Meaning("", ())
    return Meaning(rows[0]["version"], [*rows[0]["lexemes"], *pictures(words)])


def config_version(db: Database, config_name: str) -> str:
    """Return the version of a configuration, none of one that is not there."""
    rows = db.run(VERSION.format(name="$1"), ["text"], config_name)
    return rows[0]["version"] if rows else ""


def open_vocabulary(db: Database, config_name: str, version: str) -> Vocabulary:
    """Return what the session knows of this version, at first nothing."""
    kept = db.kept("vocabularies")
    vocabulary: Vocabulary | None = kept.get(config_name)
    if vocabulary is None or vocabulary.version != version or len(vocabulary.lexemes) > _MOST_WORDS:
        vocabulary = Vocabulary(version, **db.run(_KEEPS_BEGINNINGS, ["text"], config_name)[0])
        keep_value(kept, config_name, vocabulary, _MOST_CONFIGURATIONS)
    return vocabulary


def look_up(db: Database, config_name: str, vocabulary: Vocabulary, words: set[str]) -> None:
    """Put words into the vocabulary; without the configuration none."""
    unknown = list(words.difference(vocabulary.lexemes))
    if not unknown:
        return
    short = [word if len(word) <= _LONGEST else "" for word in unknown]
    for row in db.run(_LEXEMES, ["text", "text[]"], config_name, short):
        for word, lines in zip(unknown, row["lexemes"], strict=True):
            vocabulary.lexemes[word] = lexemes = lines.split("\n") if lines else ()
            for lexeme in lexemes:
                vocabulary.words.setdefault(lexeme, set()).add(word)


def beginning_of(lexeme: str) -> str:
    """Return what begins all folded words that have a lexeme, if its configuration keeps that.

    Stemmers change its last two letters, one of a short lexeme, and write i for y or y for i.
    """
    text = folded(lexeme)
    kept = text[: -1 if len(text) < 5 else -2] or text
    return kept[:-1] if len(kept) > 1 and kept[-1] in "iy" else kept


def folded(text: str) -> str:
    """Return a text, as long, in small letters, and in one of those that servers take for one.

    I may be the capital of either i in Turkish; of sigma and of the Russian e there are two.
    """
    if text.isascii():
        return text.lower()
    signs = [one for one in set(beyond_ascii(text)) if _folded_sign(one) != one]
    if len(signs) > _FEW_SIGNS:
        return _folded(text)
    text = text.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")
    for one in signs:
        text = text.replace(one, _folded_sign(one))
    return text


def _folded(text: str) -> str:
    text = text.replace("\u0130", "i").lower().replace("\u0131", "i")
    return text.replace("\u03c2", "\u03c3").replace("\u0451", "\u0435")


_folded_sign = lru_cache(maxsize=2000)(_folded)
