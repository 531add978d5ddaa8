"""The tasks that models serve, and the settings that name the models."""

from typing import Any

from pgblend.cli.database import Connection, fetch_rows, fetch_value

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
