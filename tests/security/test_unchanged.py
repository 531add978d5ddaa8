"""What a session keeps for who reads many compartments shows nothing that has changed since."""

import os
from collections.abc import Callable

import psycopg
import pytest

from support.database import SPACE, Database, add_space, embed_waiting, vector_of

SETS = 70  # more than rows are found again for (MANY of plpy/base/unchanged.py)
FOUND = "SELECT source_key FROM lexical_search('zirconium', 100) ORDER BY source_key"
KEYS = sorted(f"page-{n}.md" for n in range(SETS))


@pytest.fixture
def admin(committed: Database) -> Database:
    """A collection of documents that each have a group as their reader."""
    committed.rows("SELECT add_collection('house')")
    committed.rows(
        "SELECT ingest_document('house', format('page-%%s.md', n),"
        " format('The zirconium of page %%s.', n), readers => ARRAY[format('g%%s', n)])"
        " FROM generate_series(0, %s - 1) AS n",
        SETS,
    )
    committed.rows("SELECT lexical_seal('house')")
    return committed


def sign(admin: Database, role: str, groups: list[str], seconds: int = 900) -> str:
    """Return a value of pgblend.groups."""
    interval = f"{seconds} s"
    return str(admin.value("SELECT sign_groups(%s, %s, %s::interval)", groups, role, interval))


@pytest.fixture
def reader(admin: Database, connect_as: Callable[..., psycopg.Connection]) -> tuple[Database, str]:
    """A session that holds all groups, and searched until it keeps what it reads."""
    session = Database(connect_as("pgblend_reader"))
    role = session.value("SELECT current_user")
    admin.rows("SELECT grant_collection('house', %s)", role)
    held = sign(admin, role, [f"g{n}" for n in range(SETS)])
    session.rows("SELECT set_config('pgblend.groups', %s, false)", held)
    assert [session.column(FOUND) for _ in range(3)] == [KEYS] * 3
    return session, held


def test_changes_of_others_are_seen(admin: Database, reader: tuple[Database, str]) -> None:
    session, _ = reader
    admin.rows("SELECT set_document_readers('house', 'page-3.md', '{hr}')")
    assert session.column(FOUND) == [key for key in KEYS if key != "page-3.md"]
    admin.rows("SELECT set_document_readers('house', 'page-3.md', '{g3}')")
    assert session.column(FOUND) == KEYS
    admin.rows("SELECT delete_document('house', 'page-4.md')")
    assert session.column(FOUND) == [key for key in KEYS if key != "page-4.md"]
    admin.rows("SELECT ingest_document('house', 'page-4.md', 'New zirconium.', readers => '{g4}')")
    assert session.column(FOUND) == KEYS
    admin.rows("SELECT revoke_collection('house', %s)", session.value("SELECT current_user"))
    assert session.column(FOUND) == []


def test_memberships_and_groups_count_as_they_are(
    admin: Database, reader: tuple[Database, str]
) -> None:
    """Those of a role, of another set of groups, and of one whose time ends."""
    session, held = reader
    role, staff = session.value("SELECT current_user"), f"staff_{os.getpid()}"
    set_groups = "SELECT set_config('pgblend.groups', %s, false)"
    for groups, expected in ((sign(admin, role, ["g5"]), ["page-5.md"]), ("", []), (held, KEYS)):
        session.rows(set_groups, groups)
        assert [session.column(FOUND) for _ in range(2)] == [expected] * 2
    admin.rows(f"CREATE ROLE {staff}")
    try:
        admin.rows("SELECT set_document_readers('house', 'page-6.md', ARRAY[%s])", staff)
        assert "page-6.md" not in session.column(FOUND)
        admin.rows(f'GRANT {staff} TO "{role}"')
        assert [session.column(FOUND) for _ in range(3)] == [KEYS] * 3
        admin.rows(f'REVOKE {staff} FROM "{role}"')
        assert "page-6.md" not in session.column(FOUND)
    finally:
        admin.rows(f"DROP ROLE {staff}")
    session.rows(set_groups, sign(admin, role, [f"g{n}" for n in range(SETS)], seconds=2))
    for _ in range(3):
        session.rows(FOUND)
    session.rows("SELECT pg_sleep(2)")
    assert session.column(FOUND) == []


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
def test_a_transaction_sees_its_own_changes(
    admin: Database, reader: tuple[Database, str], isolation: str
) -> None:
    """Those of others by its snapshots; what another transaction kept is not used for them."""
    session, _ = reader
    role = session.value("SELECT current_user")
    admin.rows("SELECT grant_collection('house', %s, 'write')", role)
    admin.rows(f'GRANT pgblend_writer TO "{role}"')
    assert [session.column(FOUND) for _ in range(3)] == [KEYS] * 3
    session.rows(f"BEGIN ISOLATION LEVEL {isolation}")
    assert session.column(FOUND) == KEYS
    admin.rows("SELECT delete_document('house', 'page-7.md')")
    is_seen = isolation == "READ COMMITTED"
    others = [key for key in KEYS if key != "page-7.md" or not is_seen]
    assert session.column(FOUND) == others
    session.rows("SELECT delete_document('house', 'page-8.md')")
    assert session.column(FOUND) == [key for key in others if key != "page-8.md"]
    session.rows("ROLLBACK")
    assert session.column(FOUND) == [key for key in KEYS if key != "page-7.md"]


def test_what_all_have_in_common_is_asked_for_itself(reader: tuple[Database, str]) -> None:
    session, _ = reader
    session.rows("SET pgblend.common_only = 'on'")
    assert session.column(FOUND) == []
    session.rows("RESET pgblend.common_only")
    assert session.column(FOUND) == KEYS


# What a session keeps is signed with its snapshot: pgblend_data.lasting_proof and renewed_proof.
KEEP = (
    "WITH p AS MATERIALIZED (SELECT set_config('pgblend.readable', r.proof, true) AS proof"
    " FROM pgblend_data.readable_proof AS r)"
    " SELECT (SELECT l.proof FROM pgblend_data.lasting_proof AS l WHERE p.proof <> '') FROM p"
)
RENEW = (
    "WITH p AS MATERIALIZED (SELECT set_config('pgblend.lasting', %s, true) AS proof)"
    " SELECT (SELECT count(*) FROM pgblend_data.renewed_proof AS r WHERE p.proof <> '') FROM p"
)


def test_a_proof_outlasts_commits_that_change_no_right(
    admin: Database, reader: tuple[Database, str]
) -> None:
    """Also one that is rolled back; one that was under way when the proof was made counts."""
    session, _ = reader
    with psycopg.connect(admin.url, autocommit=True) as connection:
        other = Database(connection)
        other.rows("BEGIN")
        other.rows("SELECT set_document_readers('house', 'page-1.md', '{hr}')")
        kept = session.value(KEEP)
        admin.rows("SELECT pg_current_xact_id()")
        admin.rows("SELECT set_setting('k1', '1.3')")
        admin.rows("SELECT lexical_seal('house')")
        assert session.value(RENEW, kept) == 1
        other.rows("ROLLBACK")
        assert session.value(RENEW, kept) == 1
        other.rows("BEGIN")
        other.rows("SELECT set_document_readers('house', 'page-1.md', '{hr}')")
        kept = session.value(KEEP)
        assert session.value(RENEW, kept) == 1
        other.rows("COMMIT")
        assert session.value(RENEW, kept) == 0


@pytest.mark.parametrize(
    "change",
    [
        "SELECT set_document_readers('house', 'page-1.md', '{new}')",
        "SELECT add_collection('another')",
        "SELECT revoke_collection('house', current_user)",
        "SELECT set_collection_settings('house', '{\"k1\": 1.3}')",
        "DELETE FROM pgblend_data.document_reader WHERE reader = 'g1'",
        "TRUNCATE pgblend_data.collection_language",
    ],
)
def test_a_change_ends_what_was_kept(
    admin: Database, reader: tuple[Database, str], change: str
) -> None:
    session, _ = reader
    role = session.value("SELECT current_user")
    kept = session.value(KEEP)
    admin.rows("BEGIN")
    admin.rows(change.replace("current_user", f"'{role}'"))
    assert session.value(RENEW, kept) == 1
    admin.rows("COMMIT")
    assert session.value(RENEW, kept) == 0


def test_what_was_kept_counts_for_its_session_s_snapshots_alone(
    admin: Database, reader: tuple[Database, str]
) -> None:
    """Not where the transaction wrote or keeps its snapshot, nor as a proof itself, nor altered."""
    session, held = reader
    kept = session.value(KEEP)
    words = kept.split(" ")[0]
    for forged in (kept.replace(words, "{-1}"), kept[:-1] + "g", kept[:-64], "1 2 3"):
        assert session.value(RENEW, forged) == 0
    for begin in ("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN; SELECT pg_current_xact_id()"):
        session.rows(begin)
        assert session.value(RENEW, kept) == 0
        assert session.value(KEEP) is None
        session.rows("ROLLBACK")
    session.rows("SELECT set_config('pgblend.readable', %s, false)", kept)
    assert session.value("SELECT words FROM pgblend_data.readable_words") is None
    session.rows("RESET pgblend.readable")
    session.rows("RESET pgblend.groups")
    assert session.value(RENEW, kept) == 0
    session.rows("SELECT set_config('pgblend.groups', %s, false)", held)
    assert session.value(RENEW, kept) == 1
    staff = f"staff_{os.getpid()}"
    admin.rows(f"CREATE ROLE {staff}")
    try:
        admin.rows(f'GRANT {staff} TO "{session.value("SELECT current_user")}"')
        assert session.value(RENEW, kept) == 0
    finally:
        admin.rows(f"DROP ROLE {staff}")
    assert session.value(RENEW, kept) == 1


def test_where_triggers_do_not_tell_nothing_is_kept(
    admin: Database, reader: tuple[Database, str]
) -> None:
    """What a subscription stores is written past them, as by this role."""
    session, _ = reader
    kept = session.value(KEEP)
    admin.rows("CREATE SUBSCRIPTION s CONNECTION '' PUBLICATION p WITH (connect = false)")
    try:
        assert session.value(RENEW, kept) == 0
        assert [session.column(FOUND) for _ in range(2)] == [KEYS] * 2
        admin.rows("SET session_replication_role = replica")
        admin.rows("DELETE FROM pgblend_data.document_reader WHERE reader = 'g2'")
        admin.rows("RESET session_replication_role")
        assert session.column(FOUND) == [key for key in KEYS if key != "page-2.md"]
    finally:
        admin.rows("ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s")


def test_of_many_changes_the_last_is_noted(admin: Database, reader: tuple[Database, str]) -> None:
    """Who kept something before finds it gone, also by a change of an index."""
    session, _ = reader
    kept = session.value(KEEP)
    admin.rows("TRUNCATE pgblend_data.collection_change")
    assert session.value(RENEW, kept) == 1
    admin.rows("INSERT INTO pgblend_data.collection_change SELECT '0', 'pending'")
    ahead = admin.value("SELECT 999 - pg_current_xact_id()::text::bigint % 1000")
    for _ in range(ahead):
        admin.rows("SELECT pg_current_xact_id()")
    assert session.value(RENEW, kept) == 1
    admin.rows("DELETE FROM pgblend_data.pending")
    found = admin.rows(
        "SELECT transaction_id::text, index_table FROM pgblend_data.collection_change"
    )
    assert [(int(number) % 1000, table) for number, table in found] == [(0, None)]
    assert session.value(RENEW, kept) == 0


HYBRID = (
    "SELECT count(*) FROM hybrid_search('zirconium', query_embedding => %s, options =>"
    ' \'{"mode": "fast", "candidate_depth": 1, "ef_search": 1}\')'
)
GROWN = "UPDATE pg_class SET reltuples = reltuples * 100 WHERE relname = %s RETURNING reltuples"
ANEW = ("is_small", "NOT EXISTS (SELECT FROM pgblend_data.segment")


def test_a_stored_document_has_little_read_anew(
    admin: Database, reader: tuple[Database, str]
) -> None:
    """Neither how many vectors there are, till the planner knows, nor what has no index."""
    other, held = reader
    add_space(admin)
    embed_waiting(admin)
    admin.rows("ANALYZE")
    with psycopg.connect(admin.url, autocommit=True) as connection:
        session = Database(connection)
        for setting in (
            "log_min_duration = -1",
            "log_nested_statements = on",
            "log_level = notice",
        ):
            session.rows(f"LOAD 'auto_explain'; SET auto_explain.{setting}")
        session.rows("SELECT set_config('pgblend.groups', %s, false)", held)
        session.rows(f'SET ROLE "{other.value("SELECT current_user")}"')

        def read_anew() -> list[str]:
            """Return which of these statements a search runs."""
            session.notices.clear()
            assert session.value(HYBRID, vector_of("zirconium")) > 0
            told = " ".join(" ".join(str(message).split()) for _, message in session.notices)
            return [one for one in ANEW if one in told]

        for _ in range(3):
            read_anew()
        connection.execute("RESET ROLE; SET auto_explain.log_min_duration = 0")
        session.rows(f'SET ROLE "{other.value("SELECT current_user")}"')
        assert read_anew() == []
        for text in ("Cobalt.", "Nickel.", "Zinc."):
            admin.rows("SELECT ingest_document('house', 'new.md', %s, readers => '{g9}')", text)
            assert read_anew() == []
        assert admin.rows(GROWN, f"embedding_{SPACE}") == [(SETS * 100,)]
        assert read_anew() == ["is_small"]
        admin.rows("SELECT set_document_readers('house', 'new.md', '{g10}')")
        assert read_anew() == [ANEW[1]]  # an index that is made anew


CHANGED = RENEW.replace("count(*)", "index_tables")


def test_a_change_of_an_index_is_told(admin: Database, reader: tuple[Database, str]) -> None:
    """It ends what is kept of that table, and not what is kept of rights and of others."""
    session, _ = reader
    kept = session.value(KEEP)
    admin.rows("SELECT set_setting('k1', '1.3')")
    assert session.value(CHANGED, kept) == []
    for change, tables in (
        ("SELECT ingest_document('house', 'new.md', 'Cobalt.', readers => '{g9}')", {"pending"}),
        (
            "SELECT ingest_document('house', 'page-4.md', 'New zirconium.')",
            {"pending", "tombstone"},
        ),
        ("SELECT delete_document('house', 'page-5.md')", {"pending", "tombstone"}),
        ("SELECT lexical_seal('house')", {"pending", "segment", "tombstone"}),
    ):
        kept = session.value(KEEP)
        assert session.value(CHANGED, kept) == []
        admin.rows(change)
        assert set(session.value(CHANGED, kept)) == tables
    assert session.column(FOUND) == [key for key in KEYS if key != "page-5.md"]


def test_searches_between_commits_find_what_was_stored(
    admin: Database, reader: tuple[Database, str]
) -> None:
    """Whether others change rights, an index or neither, a search sees it as it is."""
    session, _ = reader
    left = set(KEYS)
    for place in range(0, 12, 3):
        admin.rows("SELECT pg_current_xact_id()")
        assert set(session.column(FOUND)) == left
        admin.rows("SELECT delete_document('house', %s)", f"page-{place}.md")
        left.remove(f"page-{place}.md")
        assert set(session.column(FOUND)) == left
        admin.rows("SELECT set_document_readers('house', %s, '{hr}')", f"page-{place + 1}.md")
        left.remove(f"page-{place + 1}.md")
        assert [set(session.column(FOUND)) ^ left for _ in range(2)] == [set()] * 2
        admin.rows("SELECT lexical_seal('house')")
        assert set(session.column(FOUND)) == left
        text = f"More zirconium, for {place}."
        query = "SELECT ingest_document('house', %s, %s, readers => '{g2}')"
        admin.rows(query, f"more-{place}.md", text)
        left.add(f"more-{place}.md")
        assert [set(session.column(FOUND)) ^ left for _ in range(2)] == [set()] * 2
