"""What a query means in the text search configurations that collections use."""

from collections.abc import Sequence
from typing import NamedTuple

from pgblend.plpy.ports import Operand
from pgblend.plpy.session import Database

_TERMS = "SELECT t.* FROM pgblend._query_terms($1, $2, $3) AS t"
_OPERANDS = "SELECT o.* FROM pgblend._document_operands($1, $2) AS o"
_WORDS = "SELECT pgblend._words_of_lexemes($1, $2, $3) AS words"


class ConfigTerms(NamedTuple):
    """The lexemes under one configuration, how many times its idf each weighs, what must hold."""

    config: str
    lexemes: Sequence[str]
    boosts: Sequence[float]
    condition: str | None


class QueryTerms(NamedTuple):
    """A query parsed under each configuration in use."""

    query: str
    parts: Sequence[ConfigTerms]

    @property
    def lexemes(self) -> list[str]:
        """Return the lexemes of all parts."""
        return [lexeme for part in self.parts for lexeme in part.lexemes]

    @property
    def configs(self) -> list[str]:
        """Return the configuration of each lexeme."""
        return [part.config for part in self.parts for _ in part.lexemes]


def query_terms(
    db: Database, query: str, collection_ids: Sequence[int], language: str | None
) -> QueryTerms:
    """Parse a query; `language` is the one configuration to search, None for all."""
    row = db.run(_TERMS, ["text", "bigint[]", "text"], query, collection_ids, language)[0]
    ends = row["ends"]
    parts = [
        ConfigTerms(
            config,
            row["lexemes"][ends[place] : ends[place + 1]],
            row["boosts"][ends[place] : ends[place + 1]],
            row["conditions"][place],
        )
        for place, config in enumerate(row["configs"])
    ]
    return QueryTerms(query, parts)


def document_operands(db: Database, query: str, part: ConfigTerms) -> list[Operand]:
    """Return phrases and exclusions for whole documents; none where no condition binds."""
    if part.condition is None:
        return []
    rows = db.run(_OPERANDS, ["text", "text"], query, part.config)
    return [Operand(row["alternative"], row["operand"], row["excluded"]) for row in rows]


def words_of_lexemes(
    db: Database, query: str, config: str, lexemes: Sequence[str]
) -> Sequence[str]:
    """Return for each lexeme the first word of the query that becomes it."""
    types = ["text", "text", "text[]"]
    words: Sequence[str] = db.run(_WORDS, types, query, config, lexemes)[0]["words"]
    return words
