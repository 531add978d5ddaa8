"""Every SQL example of the README runs, and its commands and their options are there."""

import re
import shlex
from pathlib import Path

import click
import psycopg
import pytest

from pgblend.cli.main import cli
from support.database import SPACE, Database, add_documents, add_space, embed_waiting, vector_of

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
EXAMPLES = [
    statement.strip()
    for block in re.findall(r"```sql\n(.*?)```", README, re.DOTALL)
    for statement in re.split(r"(?<=;)(?:[ ]+--[^\n]*)?\n", block)
    if statement.strip()
]
COMMANDS = [
    line.partition("  ")[0].partition(" #")[0]
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for command in block.splitlines()
    for line in command.split(" && ")
    if line.startswith("pgblend ")
]
LIBRARIES = {
    "manual": [("sql-rollback.html", "ROLLBACK", "Rollback will undo a transaction.")],
    "handbook": [("deploy.md", "Deploy", "How do I deploy? Run make release and wait.")],
    "docs": [("docs/wine.md", "Wine", "Red wine comes from France.")],
}


@pytest.fixture
def library(gateway_connection: psycopg.Connection) -> Database:
    """What the examples speak of."""
    db = Database(gateway_connection)
    add_space(db)
    for collection, documents in LIBRARIES.items():
        db.rows("SELECT blend.add_collection(%s)", collection)
        add_documents(db, collection, documents)
    embed_waiting(db)
    db.rows("SELECT embed_text(ARRAY['x'], %s, 60000)", SPACE)  # a first answer takes long
    db.rows("SELECT blend.add_judged_set('mine')")
    db.rows(
        "CREATE TABLE public.articles (id integer PRIMARY KEY, title text, body text, author text)"
    )
    db.rows("INSERT INTO public.articles VALUES (1, 'Walrus', 'On the ice', 'ann')")
    return db


def test_sql_examples_run_in_their_order(library: Database) -> None:
    assert len(EXAMPLES) > 25
    vector = vector_of("vacuum")
    for statement in EXAMPLES:
        library.rows(statement.replace("[0.012, …]", vector))


def test_commands_and_their_options_are_there() -> None:
    assert len(COMMANDS) > 20
    for text in COMMANDS:
        _, *words = shlex.split(text)
        command: click.Command = cli
        options = {"-h", "--help"}
        while True:
            options |= {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
            words_of_options = [w.partition("=")[0] for w in words if w.startswith("-")]
            if not isinstance(command, click.Group) or not words:
                break
            context = click.Context(command)
            name = next(w for w in words if command.get_command(context, w))
            words.remove(name)
            found = command.get_command(context, name)
            assert found is not None, text
            command = found
        assert set(words_of_options) <= options, text
