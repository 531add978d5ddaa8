"""What is in the question's own language comes before its translations."""

from collections.abc import Sequence

from pgblend.plpy.session import Database
from pgblend.plpy.text.words import script_language

_OWN = "SELECT pgblend._query_configuration($1, $2) AS language"


def other_language_factors(
    query: str, languages: Sequence[str | None], factor: float, db: Database
) -> list[float] | None:
    """Return 1 for each candidate in the question's language, for others `factor`.

    `languages` are the candidates' text search configurations. None where all have the same, where
    the question's cannot be told, and where none has it: nothing changes then.
    """
    there = sorted({language for language in languages if language})
    if len(there) < 2:
        return None
    own = script_language(query)
    if own is None:
        own = db.run(_OWN, ["text", "text[]"], query, there)[0]["language"]
    if own not in there:
        return None
    return [1.0 if language == own else factor for language in languages]
