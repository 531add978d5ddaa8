"""What a query means in the text search configurations that collections use."""

from collections.abc import Sequence
from itertools import starmap
from typing import NamedTuple

from pgblend.plpy.ports import LexicalPort, Operand, Part
from pgblend.plpy.session import Database, Row
from pgblend.plpy.text.parse import Asked, asked_of, parsed
from pgblend.plpy.text.vocabulary import VERSION, Meaning

_VERSION = VERSION.format(name="w.config_name")
# $1 the query, $4 what of it is asked. Of several languages, a word that is a stop word in the
# query's own is one in all.
PARSED = f"""
WITH used AS MATERIALIZED ({{used}})

SELECT w.*, ({_VERSION}) AS version
FROM used AS u
CROSS JOIN LATERAL pgblend._query_lexemes($4, u.configs, CASE
    WHEN cardinality(u.configs) > 1 THEN pgblend._query_stop_words($1, u.configs)
    ELSE '{{{{}}}}' END) AS w
"""
_CONDITION = "SELECT pgblend._query_condition($1, $2, $3)::text AS condition"
_WORDS = "SELECT pgblend._words_of_lexemes($1, $2, $3) AS words"


class QueryTerms(NamedTuple):
    """A query parsed under each configuration in use; weights say how many times an idf counts."""

    query: str
    parts: Sequence[Part]
    versions: Sequence[str] = ()

    @property
    def meanings(self) -> dict[str, Meaning]:
        """Return what the query looks for in each configuration, names left out."""
        return {
            part.config: Meaning(
                version, tuple(one for one in part.lexemes if not one.startswith("="))
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


def query_part(db: Database, asked: Asked, words: Row) -> Part:
    """Return what is looked for in one configuration, whose words are a row of _query_lexemes."""
    lexemes, boosts, operands = parsed(db, asked, words)
    condition = None
    if operands:
        types, values = ["integer[]", "tsquery[]", "boolean[]"], zip(*operands, strict=True)
        condition = db.run(_CONDITION, types, *map(list, values))[0]["condition"]
    named = list(starmap(Operand, operands))
    return Part(words["config_name"], lexemes, boosts, condition, named)


def words_of_lexemes(
    db: Database, query: str, config: str, lexemes: Sequence[str]
) -> Sequence[str]:
    """Return for each lexeme the first word of the query that becomes it."""
    types = ["text", "text", "text[]"]
    words: Sequence[str] = db.run(_WORDS, types, query, config, lexemes)[0]["words"]
    return words
