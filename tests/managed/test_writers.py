"""Plain SQL of roles that own nothing, on a server without PL/Python and with no door at all."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from conftest import Server, login_role, temporary_database
from managed.test_door import take_python_away
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.base.database import connect
from pgblend.cli.main import cli
from pgblend.plpy.lexical.split_text import approximate_tokens
from pgblend.plpy.lexical.words import index_parts, script_language
from support.database import Database
from support.judged import read_judged
from support.waiting import wait_until

REPOSITORY = Path(__file__).parents[2]
LONG = "\n\n".join(f"Paragraph {n} tells of the okapi and of item {n * 7}." for n in range(300))
TEXTS = {
    "plain": "A numbat eats termites in the wandoo woodland.",
    "names": "parseHTML reads /etc/fstab at 10GB, 1,250 times; see ERR-1042 and 日本語の文書。",
    "marked": "# The head\n\nA bilby digs.\n\n## Below\n\nIt sleeps by day.",
    "long": LONG,
    "re\u0301sume\u0301/plan.md": "An echidna curls up.",
}
FORMS = [
    "From 2024-05-01T03:00:00Z to 2024-05-02T04:00Zero at 37 °C, 98.6°F or 5°CHF.",
    "lru_cache(maxsize=20_000), id 001_002, 1,00,000 rupees, 12,34,567.8, 1_000_000 and 1’250’000.",  # noqa: RUF001
    "1.250,5 or 3,5 or 12 345 678; 10kB/s, 5km/h, v2.10, iPhone14 and C++17.",
    "ป½",
    "これは日本語の文書であり、行末で文\n字が分かれる。東京\n大阪\n",
]
# Vowel signs, digits, letters and flags, which PostgreSQL and Python may take for letters or not.
SIGNS = (
    "ने ी อี สั مُ שָׁ १२ ٣٤ ५ 12 250 000 ² 1 v V Ab XML parse Ж Σ ας ΐ e\u0301 İ ı 好 "  # noqa: RUF001
    "日本 の 나 ป T 2024-05-01 03:00 Z k GB ° C AT&T & () # + 😀 🇫🇷 . . . , ' ’ _ - / ™"  # noqa: RUF001
)
PIECES = [*SIGNS.split(), " ", " ", "\u00a0", "\u200d", "\n"]
LINKS = '[{"target": "long", "type": "cites"}]'
HTML = "<h1>Quoll</h1><p>Spots &amp; <b>teeth</b></p><script>no()</script>"
CHUNKS = """
    SELECT d.source_key, c.chunk_index, c.content, c.own_start, c.start_offset, c.end_offset,
        c.start_line, c.end_line, c.token_count, c.own_headings, c.lexemes::text, c.own_position,
        c.text_search_config
    FROM pgblend_data.chunk AS c INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    ORDER BY d.source_key, c.chunk_index
"""
GRAPH = """
    SELECT s.source_key, t.source_key, l.edge_type FROM pgblend_data.link AS l
    INNER JOIN pgblend_data.document AS s ON s.id = l.document_id
    LEFT JOIN pgblend_data.document AS t ON t.id = l.target_document_id ORDER BY 1, 2
"""
NAMES = """
    SELECT d.source_key, n.name, n.kind FROM pgblend_data.document_name AS n
    INNER JOIN pgblend_data.document AS d ON d.id = n.document_id ORDER BY 1, 2, 3
"""
FOUND = "SELECT source_key FROM blend.lexical_search(%s) ORDER BY 1"


def prepare(url: str) -> None:
    """Make a collection and an attached table of HTML."""
    with connect(url) as connection:
        admin = Database(connection)
        admin.rows("SELECT add_collection('notes')")
        admin.rows("CREATE TABLE public.articles (id integer PRIMARY KEY, body text)")
        admin.rows("SELECT attach_table('public.articles', '{body}', text_format => 'html')")


def write(url: str, role: str) -> None:
    """Store texts and rows as roles that may no more than that."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"GRANT pgblend_writer TO {role}".encode())
        admin.execute("SELECT blend.grant_collection('notes', %s, 'write')", (role,))
        admin.execute(f"GRANT INSERT ON public.articles TO {role}".encode())
    user = {"user": role, "password": "secret"}
    with psycopg.connect(url, autocommit=True, **user) as writer:
        for key, text in TEXTS.items():
            links = LINKS if key == "plain" else None
            writer.execute(
                "SELECT blend.ingest_document('notes', %s, %s, links => %s)", (key, text, links)
            )
        writer.execute("INSERT INTO public.articles VALUES (1, %s)", (HTML,))


@pytest.fixture(scope="module")
def written(server: Server, template: str) -> Iterator[tuple[Database, Database]]:
    """The same texts on a server with PL/Python, and without it, where nobody looked yet."""
    with (
        temporary_database(server, template) as inside,
        temporary_database(server, template) as outside,
    ):
        name = str(conninfo_to_dict(inside)["dbname"])
        for url in (inside, outside):
            prepare(url)
        take_python_away(outside)
        with login_role(server, name, "pgblend_reader") as login:
            role = str(conninfo_to_dict(login)["user"])
            for url in (inside, outside):
                write(url, role)
            with connect(inside) as one, connect(outside) as other:
                yield Database(one), Database(other)
                for database in (one, other):
                    database.execute(f"DROP OWNED BY {role}".encode())


def run(database: Database, *arguments: str) -> str:
    made = CliRunner().invoke(cli, ["--database-url", database.url, *arguments])
    assert made.exit_code == 0, made.output
    return made.output


WORDS = (
    "numbat",
    "1250",
    "etc/fstab",
    "parse",
    "文書",
    "bilby",
    "okapi",
    "teeth",
    '"item 2093"',
    "résumé",
)


def test_words_are_found_with_no_worker(written: tuple[Database, Database]) -> None:
    inside, outside = written
    for word in WORDS:
        found = {key for (key,) in outside.rows(FOUND, word)}
        assert found == {key for (key,) in inside.rows(FOUND, word)}, word
        assert found
    doctor = CliRunner().invoke(cli, ["--database-url", outside.url, "doctor"]).output
    assert "6 wait for a worker" in doctor


def test_the_worker_makes_all_else_as_inside(written: tuple[Database, Database]) -> None:
    inside, outside = written
    settle(outside)
    for statement in (CHUNKS, GRAPH, NAMES):
        assert outside.rows(statement) == inside.rows(statement)
    assert outside.rows(GRAPH) == [("plain", "long", "cites")]
    assert outside.value("SELECT count(*) FROM pgblend_data.unsettled") == 0
    outside.rows("SELECT blend.lexical_seal()")
    assert outside.value("SELECT count(*) FROM pgblend_data.pending") == 0
    assert (
        "documents by SQL"
        not in CliRunner().invoke(cli, ["--database-url", outside.url, "doctor"]).output
    )


WAITING = "SELECT count(*) FROM pgblend_data.unsettled"
MANY = 300
DUNNARTS = """
    SELECT count(DISTINCT source_key)
    FROM blend.lexical_search('dunnart', 1000, options => '{"candidate_depth": 1000}')
"""


@pytest.mark.slow
@pytest.mark.fault(
    "kill -9 of a worker amid what plain SQL wrote",
    "words found all the while, then all as inside; doctor calls it a problem",
)
def test_a_killed_worker_loses_nothing(
    written: tuple[Database, Database], without_door: str
) -> None:
    inside, outside = written
    ingest = "SELECT blend.ingest_document('notes', %s, %s, links => %s)"
    with psycopg.connect(inside.url) as one, psycopg.connect(without_door) as other:
        for n in range(MANY):
            link = json.dumps([{"target": f"d{n + 1}", "type": "cites"}])
            text = f"# Dunnart {n}\n\nNumber {n} hops by night.\n\n## Food\n\nInsects."
            for connection in (one, other):
                connection.execute(ingest, (f"d{n}", text, link))
    outside.rows("UPDATE pgblend_data.unsettled SET noted_at = noted_at - interval '11 minutes'")
    doctor = CliRunner().invoke(cli, ["--database-url", outside.url, "doctor", "--json"])
    told = {one["name"]: one["status"] for one in json.loads(doctor.stdout)["checks"]}
    assert (doctor.exit_code, told["documents by SQL"]) == (1, "problem")
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", without_door, "worker"]
    kills = 0
    while left := outside.value(WAITING):
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as worker:
            wait_until(lambda: outside.value(WAITING) < left, process=worker)
            worker.kill()
        kills += 1
        assert outside.value(DUNNARTS) == MANY
    assert kills > 1
    for statement in (CHUNKS, GRAPH, NAMES):
        assert outside.rows(statement) == inside.rows(statement)


def settle(database: Database) -> None:
    """Do as pgblend worker does before it rests."""
    while rows := database.rows("SELECT s.* FROM pgblend._settle_waiting(100) AS s"):
        for collection_id, _ in rows:
            database.rows("SELECT pgblend._resolve_links(%s, NULL)", collection_id)


def test_a_writer_s_ingest_leaves_sealing_to_the_owner_s_worker(
    written: tuple[Database, Database], server: Server, tmp_path: Path
) -> None:
    _, outside = written
    name = outside.connection.info.dbname
    (tmp_path / "a.txt").write_text("The pangolin of a writer.")
    with login_role(server, name, "pgblend_writer") as url:
        role = str(conninfo_to_dict(url)["user"])
        outside.rows("SELECT grant_collection('notes', %s, 'write')", role)
        made = CliRunner().invoke(
            cli, ["--database-url", url, "ingest", str(tmp_path), "-c", "notes"]
        )
        assert made.exit_code == 0, made.output
        assert "without sealing: " in made.output
    assert len(outside.rows("SELECT chunk_id FROM lexical_search('pangolin')")) == 1


def test_an_index_is_made_anew(written: tuple[Database, Database], tmp_path: Path) -> None:
    _, outside = written
    settle(outside)
    chunks = outside.value("SELECT count(*) FROM pgblend_data.chunk AS c INNER JOIN"
                           " pgblend_data.collection AS n ON n.id = c.collection_id"
                           " WHERE n.name = 'notes'")  # fmt: skip
    run(outside, "reindex", "--rebuild", "-c", "notes")
    found = [outside.rows(FOUND, word) for word in WORDS]
    run(outside, "reindex", "--save", str(tmp_path / "index"), "-c", "notes")
    loading = ("reindex", "--load", str(tmp_path / "index"), "-c", "notes")
    refused = CliRunner().invoke(cli, ["--database-url", outside.url, *loading])
    assert "a saved index cannot be loaded on a server without PL/Python yet" in refused.output
    assert [outside.rows(FOUND, word) for word in WORDS] == found
    status = outside.row("SELECT status, sealed, pending FROM blend.lexical_status('notes')")
    assert status == ("ready", chunks, 0)


CONFIGS = ("pg_catalog.english", "pg_catalog.german", "pg_catalog.french", "simple")
PARTS = """
    SELECT pgblend._index_parts('A title v2.1', 'Über parseHTML', u.text, u.start, u.config, ''),
        pgblend._approximate_tokens(u.text), pgblend._script_language(u.text)
    FROM unnest(%s::text[], %s::integer[], %s::text[]) AS u (text, start, config)
"""


def differing(url: str, texts: list[str]) -> list[str]:
    """Return the texts of which plain SQL makes other words than the program, or other tokens."""
    starts = [10 * (place % 3 == 0) for place in range(len(texts))]
    configs = [CONFIGS[place % len(CONFIGS)] for place in range(len(texts))]
    found = []
    with psycopg.connect(url, autocommit=True) as plain:
        assert plain.execute("SELECT pgblend._is_answered()").fetchone() == (False,)
        made = plain.execute(PARTS, (texts, starts, configs)).fetchall()
    for text, start, config, (parts, tokens, language) in zip(
        texts, starts, configs, made, strict=True
    ):
        expected = index_parts("A title v2.1", "Über parseHTML", text, start, config, "")
        same = [split_words(one) for one in expected] == [split_words(one) for one in parts]
        if not (same and tokens == approximate_tokens(text)
                and language == script_language(text)):  # fmt: skip
            found.append(text)
    return found


def split_words(text: str) -> list[str]:
    """Return the words of a text; those of a tsvector have no order."""
    return sorted(set(text.split())) if text.startswith("'") else text.split()


@pytest.fixture
def without_door(server: Server, written: tuple[Database, Database]) -> str:
    """The URL of the server itself: a Database of pgblend's own connections has a door's."""
    return server.url(written[1].connection.info.dbname)


def test_plain_sql_makes_the_same_words(without_door: str) -> None:
    pages = "".join(path.read_text() for path in sorted((REPOSITORY / "docs").rglob("*.md")))
    code = "".join(path.read_text() for path in sorted((REPOSITORY / "plpy/lexical").glob("*.py")))
    parts = [text[at : at + 400] for text in (pages, code) for at in range(0, len(text), 400)]
    forms = [one for one in FORMS for _ in CONFIGS]
    texts = [*forms, *FORMS, *TEXTS.values(), *random.Random(5).sample(parts, 240)]
    assert differing(without_door, texts) == []


def test_plain_sql_makes_the_same_words_of_any_signs(without_door: str) -> None:
    chance = random.Random(2)
    texts = ["".join(chance.choices(PIECES, k=chance.randint(3, 14))) for _ in range(500)]
    assert differing(without_door, texts) == []


@pytest.mark.slow
def test_plain_sql_makes_the_same_words_of_real_texts(without_door: str, shared_data: Path) -> None:
    sets = [path.parent for path in sorted((shared_data / "ir").glob("*/qrels.tsv"))]
    texts = [text[:600] for folder in sets for *_, text in read_judged(folder).documents[:2500]]
    chosen = random.Random(7).sample(texts, 25_000)
    parts = [chosen[at : at + 500] for at in range(0, len(chosen), 500)]
    assert [text for part in parts for text in differing(without_door, part)] == []
