"""Which of a collection's languages the model of its vectors does not know."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.model_names import DEFAULT_MODEL, MULTILINGUAL_MODEL

# As their makers name them: all-MiniLM-L6-v2, bge-small-en-v1.5, gte-base-en.
_KNOWS_ENGLISH_ALONE = re.compile(
    rf"^{re.escape(DEFAULT_MODEL)}$|\ball-(minilm|mpnet|distilroberta)\b|[-_]en([-_.]|$)", re.I
)
ENGLISH = "english"
OTHER_SCRIPTS = "other scripts"
# Languages without a stemmer are all 'simple': of those, what no Latin letter can write.
_LANGUAGES = r"""
    SELECT DISTINCT s.model, c.name AS collection,
        CASE l.text_search_config WHEN 'simple' THEN %(other)s
            ELSE l.text_search_config END AS language
    FROM blend.embedding_spaces AS s
    CROSS JOIN pgblend_data.collection AS c
    INNER JOIN pgblend_data.collection_language AS l ON l.collection_id = c.id
    WHERE s.active AND s.asks_model AND l.text_search_config <> %(english)s
        AND (%(collection)s::text IS NULL OR c.name = %(collection)s)
        AND EXISTS (
            SELECT FROM pgblend_data.document AS d
            WHERE d.collection_id = c.id AND d.text_search_config = l.text_search_config)
        AND (l.text_search_config <> 'simple' OR EXISTS (
            SELECT FROM (
                SELECT k.content FROM pgblend_data.document AS d
                INNER JOIN pgblend_data.chunk AS k ON k.document_id = d.id
                WHERE d.collection_id = c.id AND d.text_search_config = 'simple'
                LIMIT 100) AS sample
            WHERE sample.content ~ '[\u0370-\u1fff\u2e80-\ud7ff\uf900-\ufaff]{2}'))
"""
HINT = (
    f"make a second space and switch: pgblend space create multilingual --model "
    f"{MULTILINGUAL_MODEL}, pgblend space fill multilingual, pgblend space switch multilingual"
)


class Unknown(NamedTuple):
    """A language of a collection, and the model that does not know it."""

    collection: str
    language: str
    model: str


def knows_english_alone(model: str) -> bool:
    """Whether a model is known to know no other language, by its name."""
    return bool(_KNOWS_ENGLISH_ALONE.search(model))


def unknown_languages(connection: Connection, collection: str | None = None) -> set[Unknown]:
    """Return the languages that the active space's model does not know.

    Of all collections that this role may read, or of one; none without an active space.
    """
    given = {"collection": collection, "english": ENGLISH, "other": OTHER_SCRIPTS}
    rows = fetch_rows(connection, _LANGUAGES, given)
    return {Unknown(**row) for row in rows if knows_english_alone(row["model"])}


def told(unknown: Iterable[Unknown]) -> str:
    """Say which languages of which collections the model does not know."""
    found = sorted(unknown)
    (model,) = {each.model for each in found}
    listed = ", ".join(f"{each.language} in {each.collection!r}" for each in found)
    return f"{model}, whose vectors searches use, does not know {listed}"
