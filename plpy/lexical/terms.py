"""What a query means in the text search configurations that collections use."""

import math
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

from pgblend.plpy.base.catalog import Synonyms
from pgblend.plpy.base.ports import Counts, LexicalPort, Operand, Part
from pgblend.plpy.base.session import Database, Row, Rows
from pgblend.plpy.lexical.configuration import CONFIG, VERSION, VERSION_OF_ROW, Meaning
from pgblend.plpy.lexical.forms import pictures
from pgblend.plpy.lexical.query import AskedWords, asked_of, joined_condition, parsed
from pgblend.plpy.lexical.words import indexable_text

if TYPE_CHECKING:
    from pgblend.plpy.lexical.synonyms import StandIn


# Inverse document frequencies.


def bm25_idf(n: float, df: float) -> float:
    """Return ln(1 + (n - df + 0.5) / (df + 0.5)), above 0, as Lucene has it.

    `n` chunks, of which `df` have the word.
    """
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


def lexeme_idf(lexeme: str, df: int, n: int) -> float:
    """Return a lexeme's inverse document frequency, where `df` of `n` passages have it.

    A document's name ("==…") counts as if one passage had it, however many documents are called so.
    It comes before its words. Where none has it, it counts as nothing, and no score changes. Nor
    does a command's option ("=-…") that none has.
    """
    if lexeme.startswith("=="):
        return bm25_idf(n, 1) if df else 0.0
    return bm25_idf(n, df) if df or not lexeme.startswith("=-") else 0.0


def own_df(counts: Counts) -> Sequence[int]:
    """Return how many have each lexeme, of several languages those of its own."""
    return counts.language_df or counts.df


def query_idf(configs: Sequence[str], lexemes: Sequence[str], counts: Counts) -> list[float]:
    """Return the idf of lexemes, each of a text search configuration.

    Where there are several, a word's share counts within its own (language_idf).
    """
    if not counts.language_n:
        return [lexeme_idf(*each, counts.n) for each in zip(lexemes, counts.df, strict=True)]
    of_words = language_idf(configs, lexemes, counts)
    return [
        lexeme_idf(lexeme, df, counts.n) if lexeme.startswith(OF_NO_LANGUAGE) else value
        for lexeme, df, value in zip(lexemes, counts.language_df, of_words, strict=True)
    ]


DRAWN = 100
OF_NO_LANGUAGE = ("==", "=-")


def language_idf(configs: Sequence[str], lexemes: Sequence[str], counts: Counts) -> list[float]:
    """Return idf where several text search configurations are searched.

    A word's share of the passages is that within its own language, drawn towards its share of all
    by 100 passages. So a word in 100 of 240 German passages is no rarer among 10,000 others. It
    stands for df in bm25_idf. Of two translations of a passage the one in the query's language is
    meant. So a language's idf is multiplied by the square root of a ratio. It is the share of the
    query's lexemes that the language has, over the largest such share. A document's name ("==…")
    and a command's option ("=-…") say nothing of the query's language.
    """
    known: dict[str, tuple[int, int]] = {}  # lexemes that are there, of how many
    for config, lexeme, df in zip(configs, lexemes, counts.language_df, strict=True):
        if not lexeme.startswith(OF_NO_LANGUAGE):
            there, of_all = known.get(config, (0, 0))
            known[config] = there + (df > 0), of_all + 1
    most, of_most = max(known.values(), key=lambda one: one[0] / one[1], default=(0, 1))

    def weight(config: str) -> float:
        if not most or config not in known:
            return 1.0
        there, of_all = known[config]
        return math.sqrt(there * of_most / (of_all * most))

    def expected(df: int, language_n: int, language_df: int) -> float:
        if language_n == counts.n:
            return df
        drawn = language_df + DRAWN * df / counts.n
        return drawn / (language_n + DRAWN) * counts.n

    shares = zip(counts.df, counts.language_n, counts.language_df, strict=True)
    return [
        weight(config) * bm25_idf(counts.n, expected(*share))
        for config, share in zip(configs, shares, strict=True)
    ]


_VERSION = VERSION.format(name="{name}")
# $1 the query's words in the form of no language, where there are several. $4 is what of it is
# asked in the forms of the configurations $5. Of several languages, a word that is a stop word in
# the query's own is one in all.
_PARSED = f"""
WITH used AS MATERIALIZED ({{used}})

SELECT w.*, ({_VERSION.format(name="w.config_name")}) AS version
FROM used AS u
CROSS JOIN LATERAL pgblend._query_lexemes($4, $5, u.configs, CASE
    WHEN cardinality(u.configs) > 1 THEN pgblend._query_stop_words($1, u.configs)
    ELSE '{{{{}}}}' END) AS w
"""
# The same where one configuration is known and no word is too long for a lexeme, in half the time.
_PARSED_IN_ONE = f"""
WITH used AS MATERIALIZED ({{used}})

SELECT c.name AS config_name, w.*, t.version
FROM used AS u
CROSS JOIN LATERAL unnest(u.configs) AS c (name)
LEFT JOIN LATERAL (
    SELECT {VERSION_OF_ROW} AS version, to_tsvector(t.oid::regconfig, $4[1]) AS words
    {CONFIG.format(name="c.name")}) AS t ON true
CROSS JOIN LATERAL (
    SELECT
        coalesce(array_agg(w.lexeme), '{{{{}}}}') AS lexemes,
        coalesce(array_agg(cardinality(w.positions)), '{{{{}}}}') AS counts
    FROM unnest(t.words) AS w) AS w
"""
_LONGEST_LEXEME = 2046  # bytes
_MOST_KNOWN = 50
_MEANT = """
SELECT m.config_name, w.word, m.lexemes
FROM unnest($1, $2, $3) AS w (word, config_name, text)
CROSS JOIN LATERAL pgblend._query_lexemes(
    ARRAY[w.text], ARRAY[w.config_name], ARRAY[w.config_name], '{}') AS m
"""
_WORDS = "SELECT pgblend._words_of_lexemes($1, $2, $3) AS words"


class QueryTerms(NamedTuple):
    """A query parsed under each configuration in use; weights say how many times an idf counts.

    `stand_ins` are the synonyms of each part, if there are any; their lexemes weigh 0 here.
    """

    query: str
    parts: Sequence[Part]
    versions: Sequence[str] = ()
    stand_ins: "Sequence[Sequence[StandIn]]" = ()

    @property
    def covered(self) -> set[tuple[str, str]]:
        """Return the configurations and lexemes that synonyms stand for, or are."""
        return {
            (part.config, lexeme)
            for part, found in zip(self.parts, self.stand_ins, strict=False)
            for one in found
            for lexeme in (*one.lexemes, *one.others)
        }

    @property
    def meanings(self) -> dict[str, Meaning]:
        """Return what the query looks for in each configuration, names left out.

        Pictures and the same name in another spelling stay, without their sign.
        """
        same = {other for of_part in self.stand_ins for one in of_part for other in one.others}
        return {
            part.config: Meaning(
                version,
                tuple(
                    one.removeprefix("=")
                    for one in part.lexemes
                    if one[:1] != "=" or one in same or pictures(one)
                ),
            )
            for part, version in zip(self.parts, self.versions, strict=True)
        }

    @property
    def lexemes(self) -> list[str]:
        """Return the lexemes of all parts."""
        return [lexeme for part in self.parts for lexeme in part.lexemes]

    @property
    def configs(self) -> list[str]:
        """Return the configuration of each lexeme."""
        return [part.config for part in self.parts for _ in part.lexemes]


def query_terms(
    db: Database,
    port: LexicalPort,
    query: str,
    collection_ids: Sequence[int],
    language: str | None,
) -> QueryTerms:
    """Parse a query; `language` is the one configuration to search, None for all."""
    asked = asked_of(query)
    rows = port.words(query, collection_ids, language)
    parts = [query_part(db, asked, words) for words in rows]
    return QueryTerms(query, parts, [words["version"] for words in rows])


Searched = tuple[str, Sequence[int] | Sequence[str]]  # the type and value of $2 of _PARSED


class Statements(NamedTuple):
    """What parses a query: in the one configuration that is known, or in any."""

    in_one: str
    in_any: str


def parsing(used: str) -> Statements:
    """Return what parses a query in the configurations `used`, an array of a statement."""
    return Statements(_PARSED_IN_ONE.format(used=used), _PARSED.format(used=used))


def parsed_words(
    db: Database,
    statements: Statements,
    asked: AskedWords,
    searched: Searched,
    language: str | None,
) -> Rows:
    """Return a query's words by configuration (_PARSED).

    Which configurations are in use is known from the searches before; where that has changed, the
    statement runs again.
    """
    known = db.kept("configurations")
    if len(known) > _MOST_KNOWN:
        known.clear()
    type_, value = searched
    while True:
        words = indexable_text(asked.words, "simple") if len(known) > 1 else ""
        texts = [indexable_text(asked.text, config) for config in known]
        values = words, value, language, texts, list(known)
        is_short = len(texts) == 1 and len(texts[0].encode()) <= _LONGEST_LEXEME
        statement = statements.in_one if is_short else statements.in_any
        rows = db.run(statement, ["text", type_, "text", "text[]", "text[]"], *values)
        unknown = [name for row in rows if (name := row["config_name"]) not in known]
        if not unknown:
            return rows
        known.update(dict.fromkeys(unknown, True))


def with_synonyms(db: Database, terms: QueryTerms, synonyms: Sequence[Synonyms]) -> QueryTerms:
    """Return a query that has the lexemes of what its words stand for as well."""
    from pgblend.plpy.lexical.synonyms import stand_ins  # of few searches

    text = asked_of(terms.query).text
    pairs = zip(terms.parts, terms.versions, strict=True)
    found = [
        stand_ins(db, text, part.config, version, synonyms) if part.lexemes else []
        for part, version in pairs
    ]
    return with_others(terms, found)


def with_others(terms: QueryTerms, found: "Sequence[Sequence[StandIn]]") -> QueryTerms:
    """Return a query that has the lexemes of what stands for words of each part as well."""
    parts = []
    for part, of_part in zip(terms.parts, found, strict=True):
        others = {lexeme: 0.0 for one in of_part for lexeme in one.others}
        boosts = others | dict(zip(part.lexemes, part.weights, strict=True))
        ranked = sorted(boosts)
        parts.append(part._replace(lexemes=ranked, weights=[boosts[one] for one in ranked]))
    before = terms.stand_ins or [[] for _ in parts]
    stand_ins = [[*first, *more] for first, more in zip(before, found, strict=True)]
    return terms._replace(parts=parts, stand_ins=stand_ins)


def with_stand_ins(
    terms: QueryTerms, parts: Sequence[Part], idf: Mapping[tuple[str, str], float]
) -> list[Part]:
    """Return parts of the query in which synonyms weigh; `idf` is by configuration and lexeme."""
    from pgblend.plpy.lexical.synonyms import stand_in_weights  # of few searches

    of_config = {
        plain.config: (plain, found)
        for plain, found in zip(terms.parts, terms.stand_ins, strict=True)
    }
    weighed = []
    for part in parts:
        plain, found = of_config[part.config]
        own = [one for one, boost in zip(plain.lexemes, plain.weights, strict=True) if boost]
        values = {lexeme: idf[part.config, lexeme] for lexeme in plain.lexemes}
        others = stand_in_weights(found, own, values)
        weights = [
            max(weight, others.get(lexeme, 0.0))
            for lexeme, weight in zip(part.lexemes, part.weights, strict=True)
        ]
        weighed.append(part._replace(weights=weights))
    return weighed


def query_part(db: Database, asked: AskedWords, words: Row) -> Part:
    """Return what is looked for in one configuration, whose words are a row of _query_lexemes."""
    lexemes, boosts, operands = parsed(db, asked, words)
    condition = None
    if operands:
        condition = joined_condition(db, operands)
    named = list(starmap(Operand, operands))
    return Part(words["config_name"], lexemes, boosts, condition, named)


def words_of_lexemes(
    db: Database, query: str, config: str, lexemes: Sequence[str]
) -> Sequence[str]:
    """Return for each lexeme the first word of the query that becomes it."""
    types = ["text", "text", "text[]"]
    values = indexable_text(query, config), config, lexemes
    words: Sequence[str] = db.run(_WORDS, types, *values)[0]["words"]
    return words


def lexemes_of_words(
    db: Database, words: Sequence[str], configs: Sequence[str]
) -> list[tuple[str, str, Sequence[str]]]:
    """Return configuration, word and its lexemes for each of both."""
    pairs = [(word, config, indexable_text(word, config)) for word in words for config in configs]
    columns = [[pair[place] for pair in pairs] for place in range(3)]
    rows = db.run(_MEANT, ["text[]", "text[]", "text[]"], *columns)
    return [(row["config_name"], row["word"], row["lexemes"]) for row in rows]
