"""Documents that a role may not read change nothing that it is answered.

Two databases go through the same operations, but one has hidden documents besides. Every other
operation is a reader's question to both, and the answers are the same bytes, but for times, and for
numbers of rows, which are given in their order.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from random import Random
from typing import Any

import psycopg
import pytest
from conftest import Server, login_role, temporary_database
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from support.database import SPACE, Database, add_space, vector_of

OPERATIONS = "PGBLEND_SILENCE_OPERATIONS"  # how many, for who has the time
SEED = "PGBLEND_SILENCE_SEED"  # where others than those of `make test` are to be tried
WORDS = [
    *("harbour", "anchor", "lantern", "ledger", "velvet", "orchard", "granite", "copper"),
    *("whistle", "meadow", "thunder", "parcel", "kettle", "marble", "ribbon", "saddle"),
    *("walnut", "canvas", "hammer", "needle"),
]
SECRET = ["zirconium", "bonus", "dismissal", "merger", "director", "velvet", "copper", "harbour"]
OPTIONS = json.dumps({"vector_scan": "exact", "context_chars": {"before": 50, "after": 50}})
# %(q)s a query, %(v)s its vector, %(f)s a filter.
QUESTIONS = (
    "SELECT to_jsonb(r) FROM lexical_search(%(q)s, 8, filter => %(f)s) AS r",
    "SELECT to_jsonb(r) FROM fuzzy_search(%(q)s, 8) AS r",
    "SELECT to_jsonb(r) FROM hybrid_search(%(q)s, 8, filter => %(f)s, options => %(o)s,"
    " query_embedding => %(v)s) AS r",
    "SELECT to_jsonb(r) FROM hybrid_search(%(q)s, 3, options => %(o)s::jsonb || jsonb_build_object("
    "'after', (SELECT p.details -> 'cursor' FROM hybrid_search(%(q)s, 2, options => %(o)s,"
    " query_embedding => %(v)s) AS p WHERE p.rank = 2)), query_embedding => %(v)s) AS r",
    "SELECT to_jsonb(r) FROM vector_search(result_limit => 8, query_embedding => %(v)s,"
    " options => %(o)s) AS r",
    "SELECT to_jsonb(r) FROM search_facets(%(q)s, ARRAY['shelf', '$kind'], options => %(o)s,"
    " query_embedding => %(v)s) AS r",
    "SELECT search_explain(%(q)s, 5, options => %(o)s, query_embedding => %(v)s)",
    "SELECT get_context(%(q)s, options => %(o)s, query_embedding => %(v)s)",
    "SELECT to_jsonb(r) FROM collections AS r",
    "SELECT to_jsonb(r) FROM documents AS r ORDER BY r.document_id",
    "SELECT to_jsonb(r) FROM chunks AS r ORDER BY r.chunk_id",
    "SELECT to_jsonb(r) FROM links AS r ORDER BY r.document_id, r.target",
    "SELECT to_jsonb(r) FROM edges AS r"
    " ORDER BY r.document_id, split_part(r.target, ':', 2)::bigint",
    "SELECT to_jsonb(r) FROM document_rights AS r",
    "SELECT to_jsonb(r) FROM (SELECT DISTINCT v.lexeme FROM pgblend_data.vocabulary AS v"
    " ORDER BY v.lexeme) AS r",
    "SELECT to_jsonb(r) FROM hybrid_search(%(q)s, 5, ARRAY['house', %(q)s],"
    " query_embedding => %(v)s) AS r",
    "SELECT to_jsonb(r) FROM graph_neighbors(graph_node('house', %(k)s)) AS r",
    "SELECT to_jsonb(r) FROM search_diagnose(%(q)s, graph_node('house', %(k)s),"
    " options => %(o)s, query_embedding => %(v)s) AS r",
)
TIMES = {"ms", "start_ms", "total_ms", "ingested_at", "created_at", "search_id"}
NUMBERS = {"chunk_id", "document_id", "target_document_id", "id", "chunk_ids"}


class Silence:
    """A database that a reader asks, and what is done to both."""

    def __init__(self, admin: Database, reader: Database) -> None:
        self.admin, self.reader = admin, reader

    def put(self, key: str, text: str, shelf: int, readers: list[str] | None) -> None:
        """Store a document, and the vector of its passage."""
        document_id = self.admin.value(
            "SELECT document_id FROM ingest_document('house', %s, %s, %s, metadata => %s,"
            " readers => %s, links => %s)",
            key,
            text,
            text.split()[0],
            json.dumps({"shelf": shelf}),
            readers,
            json.dumps([{"target": name, "kind": "path"} for name in re.findall(r"\S+\.md", text)]),
        )
        self.admin.rows(
            "SELECT store_embeddings(%s, array_agg(chunk_id), array_agg(%s::vector))"
            " FROM chunks WHERE document_id = %s",
            SPACE,
            vector_of(text),
            document_id,
        )

    def stored(self, key: str) -> list[tuple[Any, ...]]:
        """Return the text and the shelf of a document, where there is one."""
        return self.admin.rows(
            "SELECT c.content, (d.metadata ->> 'shelf')::integer FROM chunks AS c"
            " INNER JOIN documents AS d USING (document_id) WHERE d.source_key = %s",
            key,
        )

    def answer(self, question: str, given: dict[str, Any]) -> str:
        """Return what the reader is told, as one text."""
        try:
            rows = [row[0] for row in self.reader.connection.execute(question, given)]
        except psycopg.Error as error:
            told: Any = [error.sqlstate, str(error.diag.message_primary)]
        else:
            told = rows
        told = [told, sorted(self.reader.warnings())]
        return json.dumps(renumbered(told, {}), sort_keys=True)


def is_time(value: Any) -> bool:
    """Tell whether a stage only says how long the session read what it did not keep yet."""
    return isinstance(value, dict) and value.get("name") == "warm_up"


def renumbered(value: Any, seen: dict[Any, int]) -> Any:
    """Return a value without times, its rows numbered by the order in which they come."""
    if isinstance(value, list):
        return [renumbered(item, seen) for item in value if not is_time(item)]
    if not isinstance(value, dict):
        if isinstance(value, str):
            return re.sub(r"\b(document|chunk):(\d+)", lambda m: renamed(m, seen), value)
        return value
    kept = {}
    for key, item in value.items():
        if key in TIMES:
            continue
        if key in NUMBERS:
            ids = item if isinstance(item, list) else [item]
            kept[key] = [seen.setdefault((key[:5], i), len(seen)) for i in ids if i is not None]
        else:
            kept[key] = renumbered(item, seen)
    return kept


def renamed(found: re.Match[str], seen: dict[Any, int]) -> str:
    """Return a node by the place of its number."""
    return f"{found[1]}:{seen.setdefault((found[1][:5], int(found[2])), len(seen))}"


@pytest.fixture(scope="module")
def pair(server: Server, template: str) -> Iterator[tuple[Silence, Silence]]:
    """Two databases with a collection that the same role may read."""
    with ExitStack() as stack:
        urls = [stack.enter_context(temporary_database(server, template)) for _ in range(2)]
        admins = [Database(stack.enter_context(connect(url))) for url in urls]
        names = [admin.connection.info.dbname for admin in admins]
        url = stack.enter_context(login_role(server, names[0], "pgblend_reader"))
        made = []
        for admin, name in zip(admins, names, strict=True):
            add_space(admin)
            admin.rows("SELECT add_collection('house')")
            reader = Database(stack.enter_context(connect(make_conninfo(url, dbname=name))))
            admin.rows("SELECT grant_collection('house', %s)", reader.connection.info.user)
            made.append(Silence(admin, reader))
        yield made[0], made[1]


def sentence(random: Random, words: list[str], keys: list[str]) -> str:
    """Return a text of some words, sometimes with the name of a document in it."""
    told = random.choices(words, k=random.randint(4, 30))
    if keys and random.random() < 0.3:
        told.append(random.choice(keys))
    return " ".join(told)


def operate(random: Random, both: tuple[Silence, Silence], keys: set[str]) -> None:
    """Change something at random; the keys are those of public documents."""
    key = f"page-{random.randint(0, 60)}.md"
    is_stored = key in keys or both[0].stored(key)
    if random.random() < 0.1:
        for one in random.choice([both, both[:1]]):
            one.admin.rows("SELECT lexical_seal('house')")
    elif key in keys or (not is_stored and random.random() < 0.5):
        change_public(random, both, keys, key)
    else:
        change_hidden(random, both, keys, key)


def change_public(random: Random, both: tuple[Silence, Silence], keys: set[str], key: str) -> None:
    """Delete, hide or store a public document. What is hidden is deleted in the second database."""
    hiding, plain = both
    choice = random.random() if key in keys else 1
    if choice < 0.3:
        for one in both:
            one.admin.rows("SELECT delete_document('house', %s)", key)
        keys.remove(key)
    elif choice < 0.4:
        hiding.admin.rows("SELECT grant_document('house', %s, 'hr')", key)
        plain.admin.rows("SELECT delete_document('house', %s)", key)
        plain.admin.rows("SELECT lexical_rebuild('house')")  # as the grant does
        keys.remove(key)
    else:
        text, shelf = sentence(random, WORDS, sorted(keys)), random.randint(1, 4)
        for one in both:
            one.put(key, text, shelf, None)
        keys.add(key)


def change_hidden(random: Random, both: tuple[Silence, Silence], keys: set[str], key: str) -> None:
    """Delete, grant, publish or store a document that the first database alone has."""
    hiding, plain = both
    stored = hiding.stored(key)
    choice = random.random() if stored else 1
    if choice < 0.2:
        hiding.admin.rows("SELECT delete_document('house', %s)", key)
    elif choice < 0.4:
        reader = random.choice(["hr", "board", "nobody"])
        hiding.admin.rows("SELECT grant_document('house', %s, %s)", key, reader)
    elif choice < 0.5:
        plain.put(key, *stored[0], None)
        hiding.admin.rows("SELECT set_document_readers('house', %s, NULL)", key)
        keys.add(key)
    else:
        readers = random.choice([["hr"], ["board"], ["hr", "board"], []])
        text = sentence(random, SECRET + WORDS, [*sorted(keys), "page-3.md"])
        hiding.put(key, text, random.randint(1, 9), readers)


def ask(random: Random, both: tuple[Silence, Silence], keys: set[str], told: str) -> None:
    """Ask both a question at random, and compare the answers."""
    words = random.choices(WORDS + SECRET, k=random.randint(1, 3))
    if random.random() < 0.3:
        words[0] = words[0][:3] + words[0][4:]
    text = " ".join(words)
    question = random.choice(QUESTIONS)
    given = {
        "q": text,
        "v": vector_of(text),
        "k": random.choice([*sorted(keys), "page-3.md"]),
        "f": random.choice([None, '{"shelf": 2}', '{"shelf": {"contains": 1}}']),
        "o": OPTIONS,
    }
    hiding, plain = (one.answer(question, given) for one in both)
    assert hiding == plain, f"{told}: {question} {text}"


def test_hidden_documents_are_silent(pair: tuple[Silence, Silence]) -> None:
    """Over many random operations, with the seed that is named where it fails."""
    count, seed = int(os.environ.get(OPERATIONS, 1000)), int(os.environ.get(SEED, 54))
    random = Random(seed)
    keys: set[str] = set()
    for number in range(count):
        if number % 1000 == 0:
            print(f"seed {seed}: {number} operations", flush=True)
        if number % 2:
            ask(random, pair, keys, f"seed {seed}, operation {number}")
        else:
            operate(random, pair, keys)
    hidden = pair[0].admin.value("SELECT count(*) FROM document_rights")
    assert hidden > 0


AT_ONCE = {
    # What one session does and leaves open, and what another does meanwhile.
    "two grants": (
        "SELECT grant_document('shed', 'a.md', 'hr')",
        "grant_document('shed', 'a.md', 'board')",
    ),
    "grant and ingest": (
        "SELECT set_document_readers('shed', 'a.md', '{hr}')",
        "ingest_document('shed', 'a.md', 'The zirconium bonus grows.')",
    ),
    "ingest and grant": (
        "SELECT ingest_document('shed', 'a.md', 'The zirconium bonus grows.')",
        "set_document_readers('shed', 'a.md', '{board}')",
    ),
    "new twice": (
        "SELECT ingest_document('shed', 'new.md', 'The zirconium bonus.', readers => '{hr}')",
        "ingest_document('shed', 'new.md', 'The zirconium bonus.')",
    ),
    "seal and grant": ("SELECT lexical_seal('shed')", "grant_document('shed', 'a.md', 'hr')"),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_two_sessions_do_at_once(pair: tuple[Silence, Silence], name: str) -> None:
    """Each takes effect, none waits for ever, and a reader finds the document no more."""
    hiding = pair[0]
    admin, reader = hiding.admin, hiding.reader
    first, second = AT_ONCE[name]
    admin.rows("SELECT add_collection('shed')")
    admin.rows("SELECT grant_collection('shed', %s)", reader.connection.info.user)
    put = "SELECT ingest_document('shed', %s, 'The zirconium bonus.', readers => %s)"
    try:
        admin.rows(put, "other.md", ["nobody"])
        admin.rows(put, "a.md", None if name == "seal and grant" else [])
        with ExitStack() as stack:
            other = stack.enter_context(connect(admin.url))
            late = stack.enter_context(ThreadPoolExecutor(1))
            with admin.connection.transaction():
                admin.rows(first)
                done = late.submit(other.execute, f"SELECT {second}")
                wait_for_lock(reader, other.info.backend_pid)
            done.result(timeout=60)
        expected = {
            "two grants": {"a.md": ["group:board", "group:hr"]},
            "grant and ingest": {"a.md": ["group:hr"]},
            "ingest and grant": {"a.md": ["group:board"]},
            "new twice": {"a.md": [], "new.md": ["group:hr"]},
            "seal and grant": {"a.md": ["group:hr"]},
        }[name] | {"other.md": ["group:nobody"]}
        rows = admin.rows(
            "SELECT source_key, readers FROM document_rights WHERE collection = 'shed'"
        )
        assert dict(rows) == expected
        found = "SELECT count(*) FROM lexical_search('zirconium', collections => '{shed}')"
        assert admin.value(found) > 0
        assert admin.value("SELECT documents FROM collections WHERE name = 'shed'") == len(expected)
        assert reader.value(found) == 0
    finally:
        admin.rows("SELECT remove_collection('shed')")


@pytest.mark.parametrize("is_hidden_first", [True, False])
def test_a_new_key_is_there_once_while_the_first_compartment_is_made(
    pair: tuple[Silence, Silence], is_hidden_first: bool
) -> None:
    """Two sessions store it, one with readers: the other waits, and loses nothing in silence."""
    admin, reader = pair[0].admin, pair[0].reader
    admin.rows("SELECT add_collection('shed')")
    admin.rows("SELECT grant_collection('shed', %s)", reader.connection.info.user)
    public = "SELECT ingest_document('shed', 'new.md', 'The zirconium bonus.')"
    hidden = f"{public[:-1]}, readers => '{{hr}}')"
    first, second = (hidden, public) if is_hidden_first else (public, hidden)
    try:
        with ExitStack() as stack:
            other = stack.enter_context(connect(admin.url))
            late = stack.enter_context(ThreadPoolExecutor(1))
            with admin.connection.transaction():
                admin.rows(first)
                done = late.submit(other.execute, second)
                wait_for_lock(reader, other.info.backend_pid)
            if is_hidden_first:
                with pytest.raises(psycopg.errors.UniqueViolation):
                    done.result(timeout=60)
            else:
                done.result(timeout=60)
        admin.rows(public)
        rights = "SELECT source_key, readers FROM document_rights WHERE collection = 'shed'"
        assert dict(admin.rows(rights)) == {"new.md": ["group:hr"]}
        assert admin.value("SELECT documents FROM collections WHERE name = 'shed'") == 1
        found = "SELECT count(*) FROM lexical_search('zirconium', collections => '{shed}')"
        assert (admin.value(found), reader.value(found)) == (1, 0)
    finally:
        admin.rows("SELECT remove_collection('shed')")


def test_searches_go_on_during_a_grant(pair: tuple[Silence, Silence]) -> None:
    """They wait for nothing, find the document until it is committed, and not a moment longer."""
    admin, reader = pair[0].admin, pair[0].reader
    admin.rows("SELECT add_collection('shed')")
    admin.rows("SELECT grant_collection('shed', %s)", reader.connection.info.user)
    found = "SELECT count(*) FROM lexical_search('zirconium', collections => '{shed}')"
    try:
        admin.rows("SELECT ingest_document('shed', 'a.md', 'The zirconium bonus.')")
        reader.rows("SET lock_timeout = '10s'")
        with admin.connection.transaction():
            admin.rows("SELECT grant_document('shed', 'a.md', 'hr')")
            assert reader.value(found) == 1
            assert reader.value("SELECT documents FROM collections WHERE name = 'shed'") == 1
        assert reader.value(found) == 0
        assert reader.value("SELECT documents FROM collections WHERE name = 'shed'") == 0
    finally:
        reader.rows("RESET lock_timeout")
        admin.rows("SELECT remove_collection('shed')")


def test_a_right_is_lost_at_read_committed_alone(pair: tuple[Silence, Silence]) -> None:
    """At REPEATABLE READ a call that takes one away is refused, and one that gives one holds."""
    admin, reader = pair[0].admin, pair[0].reader
    admin.rows("SELECT add_collection('shed')")
    admin.rows("SELECT grant_collection('shed', %s)", reader.connection.info.user)
    put = "SELECT ingest_document('shed', %s, 'The zirconium bonus ' || %s, readers => %s)"
    found = "SELECT count(*) FROM lexical_search('zirconium', collections => '{shed}')"
    try:
        admin.rows(put, "a.md", "grows.", None)
        admin.rows(put, "b.md", "shrinks.", ["hr"])
        admin.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        error = admin.error("SELECT grant_document('shed', 'a.md', 'hr')")
        admin.rows("SELECT set_document_readers('shed', 'b.md', NULL)")
        admin.rows("COMMIT")
        assert (error.sqlstate, bool(error.message_hint)) == ("25001", True)
        assert reader.value(found) == 2
    finally:
        admin.rows("SELECT remove_collection('shed')")


def wait_for_lock(db: Database, process: int) -> None:
    """Wait until a server process waits for another's lock."""
    blocked = "SELECT cardinality(pg_blocking_pids(%s))"
    end = time.monotonic() + 60
    while not db.value(blocked, process):
        assert time.monotonic() < end, "nobody waits"
        time.sleep(0.05)
