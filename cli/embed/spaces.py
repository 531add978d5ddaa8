"""Embedding spaces, settings, and the models that serve tasks, as the database has them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, LiteralString, NamedTuple

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.extras import DEFAULT_MODEL, MULTILINGUAL_MODEL

# No first space is made beside one that searches use, or that a model fills.
HAS_SPACE: LiteralString = """
    EXISTS (SELECT FROM pgblend_data.embedding_space AS s WHERE s.active OR s.asks_model)
"""


@dataclass(frozen=True)
class SpaceCounts:
    """An embedding space and how many chunks wait for a vector in it."""

    name: str
    model: str
    dimensions: int
    waiting: int
    active: bool = False
    asked_dimensions: int | None = None


def get_setting(connection: Connection, name: str) -> Any:
    """Return a setting of the database."""
    row = connection.execute("SELECT blend.get_setting(%s)", [name]).fetchone()
    return row[0] if row else None


def read_spaces(connection: Connection) -> list[SpaceCounts]:
    """Return the spaces whose model is asked, the active first: searches wait for its vectors."""
    rows = connection.execute(
        "SELECT name, model, dimensions, waiting, active, asked_dimensions"
        " FROM blend.embedding_spaces WHERE asks_model ORDER BY active DESC, name"
    )
    return [SpaceCounts(*row) for row in rows]


def needs_vectors(connection: Connection) -> bool:
    """Whether a chunk waits for a vector, or a document for the summary that is embedded with it.

    Before there is a space, everything does.
    """
    row = connection.execute(
        f"SELECT NOT {HAS_SPACE}"
        " OR EXISTS (SELECT FROM pgblend_data.embedding_queue WHERE dead_at IS NULL)"
        " OR EXISTS (SELECT FROM pgblend_data.document_summary"
        " WHERE (summary IS NULL OR outdated) AND failures < 3)"
    ).fetchone()
    return bool(row and row[0])


# Which of a collection's languages the model of its vectors does not know.

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
        AND (%(collection)s::text IS NULL OR c.name = normalize(%(collection)s::text))
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


# Task -> what it is for; embedding comes first.
TASKS = {
    "embedding": "vectors of passages and queries",
    "expansion": "variants of a query, and a passage that would answer it",
    "rerank": "scores of passages against the query",
    "answer": "answers from passages",
    "summary": "summaries of documents at ingest",
    "vision": "texts of pictures at ingest",
    "entity": "the things that documents speak of",
}
# Tasks that ingest does only where a setting of the database or of a collection says so.
_SWITCHES = {"summary": "summaries", "entity": "entities"}
_IS_ON = """
    SELECT blend.get_setting(%(switch)s::text) = 'true' OR EXISTS (
        SELECT FROM pgblend_data.collection AS c
        WHERE c.settings -> %(switch)s::text = 'true')
"""
_SETTINGS = """
    SELECT s.name, s.value #>> '{}' AS model, s.source
    FROM blend.settings AS s WHERE s.name = ANY (%(names)s::text[])
"""
_SPACE_IN_USE = """
    SELECT s.name, s.model FROM blend.embedding_spaces AS s WHERE s.active AND s.asks_model
"""


def setting_of(task: str) -> str:
    """Return the setting that names a task's model."""
    return f"{task}_model"


def assigned_models(connection: Connection) -> list[dict[str, Any]]:
    """Return each task with its model (None where it has none) and where that is set.

    The model of embedding is that of the space in use, once there is one: source is `space`.
    """
    names = [setting_of(task) for task in TASKS]
    found = {row["name"]: row for row in fetch_rows(connection, _SETTINGS, {"names": names})}
    rows = [
        {
            "task": task,
            "model": found[setting_of(task)]["model"],
            "source": found[setting_of(task)]["source"],
            "setting": setting_of(task),
            "description": description,
        }
        for task, description in TASKS.items()
    ]
    if space := space_in_use(connection):
        about = f"{TASKS['embedding']}, in the space {space['name']}"
        rows[0] |= {"model": space["model"], "source": "space", "description": about}
    return rows


def space_in_use(connection: Connection) -> dict[str, Any] | None:
    """Return name and model of the embedding space that searches use, where there is one."""
    return next(iter(fetch_rows(connection, _SPACE_IN_USE)), None)


def no_model(task: str) -> str:
    """Say what taking a task's model away comes to."""
    return "the default model" if task == "embedding" else "no model"


def switched_off(connection: Connection, task: str) -> str | None:
    """Name the setting that would have a task done, where it is off everywhere."""
    switch = _SWITCHES.get(task)
    if switch is None or fetch_value(connection, _IS_ON, {"switch": switch}):
        return None
    return switch
