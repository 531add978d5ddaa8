"""What a session keeps for who reads many compartments shows nothing that has changed since."""

import os
from collections.abc import Callable

import psycopg
import pytest

from support.database import Database

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
