"""Who asked is the role in force, also where all tenants come over one connection of a pooler."""

import json
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from pgblend.cli.base.database import connect
from support.database import Database, add_documents

FAST = '{"mode": "fast", "fuzzy": "off"}'


class Tenants:
    """Two writers, each of a collection of its own, and a pooler's connection that may be both."""

    def __init__(
        self, admin: Database, pooler: Database, roles: dict[str, str], log: socket.socket
    ) -> None:
        self.admin, self.pooler, self.roles, self.log = admin, pooler, roles, log

    def become(self, tenant: str, how: LiteralString = "SET ROLE {}") -> None:
        self.pooler.connection.execute(sql.SQL(how).format(sql.Identifier(self.roles[tenant])))

    def logged(self) -> dict[str, Any]:
        """The next report, which is put into the log as the gateway would."""
        report: dict[str, Any] = json.loads(self.log.recv(65536))
        self.admin.rows(
            """INSERT INTO pgblend_data.search_log (
                search_id, searched_at, role_name, query, collections, result_count, milliseconds,
                stages, degraded, results, trace)
            VALUES (%s, %s, %s, %s, %s, %s, %s, '[]', '{}', '[]', '{}')""",
            *(report[name] for name in ("search_id", "at", "role", "query", "collections")),
            report["rows"],
            report["ms"],
        )
        return report


@pytest.fixture
def tenants(committed: Database, url_as: Callable[..., str]) -> Iterator[Tenants]:
    with ExitStack() as stack:
        roles = {}
        for tenant in ("alice", "bob"):
            roles[tenant] = psycopg.conninfo.conninfo_to_dict(url_as("pgblend_writer"))["user"]
            committed.rows("SELECT add_collection(%s)", f"of {tenant}")
            committed.rows(
                "SELECT grant_collection(%s, %s, 'write')", f"of {tenant}", roles[tenant]
            )
            texts = ("a red fox", "a brown fox", f"{tenant} has a fox")
            add_documents(
                committed, f"of {tenant}", [(f"{tenant}{i}", "", t) for i, t in enumerate(texts)]
            )
        pooler = stack.enter_context(connect(url_as(*roles.values())))
        log = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        log.bind(("127.0.0.1", 0))
        log.settimeout(5)
        committed.rows(
            "SELECT set_setting('log_address', to_jsonb(%s::text))",
            f"127.0.0.1:{log.getsockname()[1]}",
        )
        yield Tenants(committed, Database(pooler), roles, log)


SEARCH = "SELECT source_key, score, chunk_id, details FROM hybrid_search(%s, options => %s)"


def found(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What rows say beside the id of their search."""
    return [(*row[:3], {**row[3], "search_id": None}) for row in rows]


def test_a_search_is_logged_as_the_role_in_force(tenants: Tenants) -> None:
    tenants.become("alice")
    rows = tenants.pooler.rows(SEARCH, "red fox", FAST)
    report = tenants.logged()
    assert (report["role"], report["collections"]) == (tenants.roles["alice"], ["of alice"])
    give = "SELECT feedback(%s, %s, 1)"
    tenants.become("bob")
    (own, *_) = tenants.pooler.rows(SEARCH, "fox", FAST)
    assert tenants.logged()["role"] == tenants.roles["bob"]
    read = "SELECT pgblend._logged_search(%s)"
    assert tenants.pooler.value(read, report["search_id"]) is None
    assert tenants.pooler.error(give, report["search_id"], own[2]).sqlstate == "22023"
    tenants.become("alice")
    assert tenants.pooler.value(read, report["search_id"]) == "red fox"
    tenants.pooler.rows(give, report["search_id"], rows[0][2])
    assert tenants.admin.rows("SELECT query, judged_by::text FROM judgements") == [
        ("red fox", tenants.roles["alice"])
    ]


SET_ROLE = ("SET ROLE {}", "SET LOCAL ROLE {}")


@pytest.mark.parametrize("switches", [12, pytest.param(1_000, marks=pytest.mark.slow)])
def test_many_switches_are_as_fresh_sessions(tenants: Tenants, switches: int) -> None:
    """Rows, log, plans and the right to give feedback, for each of many searches."""
    queries = ("red fox", "brown", "alise", "bob", "fox", '"red fox"')
    options = (FAST, '{"mode": "fast", "k1": 2}', '{"mode": "fast", "limits": 1}')
    chance = random.Random(18)
    chosen = [
        tuple(map(chance.choice, (list(tenants.roles), queries, options, SET_ROLE)))
        for _ in range(switches)
    ]
    fresh: dict[tuple[str, str, str], Any] = {}
    for tenant, query, option in {one[:3] for one in chosen}:
        with connect(tenants.admin.url) as opened:
            session = Database(opened)
            opened.execute(
                sql.SQL("SET SESSION AUTHORIZATION {}").format(
                    sql.Identifier(tenants.roles[tenant])
                )
            )
            fresh[tenant, query, option] = outcome(session, query, option)
    while drained(tenants.log):
        pass
    before: dict[str, str] = {}  # the last search of each tenant
    for tenant, query, option, set_role in chosen:
        with ExitStack() as stack:
            if "LOCAL" in set_role:
                stack.enter_context(tenants.pooler.connection.transaction())
            tenants.become(tenant, set_role)
            assert outcome(tenants.pooler, query, option) == fresh[tenant, query, option]
        if option == options[2]:
            continue
        report = tenants.logged()
        tenants.become(tenant)
        assert (report["role"], report["query"], report["collections"]) == (
            tenants.roles[tenant],
            query,
            [f"of {tenant}"],
        )
        before[tenant] = report["search_id"]
        for other, search_id in before.items():
            seen = tenants.pooler.value("SELECT pgblend._logged_search(%s)", search_id)
            assert (seen is None) == (other != tenant)


def outcome(session: Database, query: str, option: str) -> Any:
    """Rows of a search, or its error."""
    try:
        with session.connection.transaction():
            return found(session.rows(SEARCH, query, option))
    except psycopg.Error as error:
        return error.sqlstate


def drained(log: socket.socket) -> bool:
    log.setblocking(False)
    try:
        log.recv(65536)
    except BlockingIOError:
        log.settimeout(5)
        return False
    return True


def test_set_local_role_ends_with_its_transaction(tenants: Tenants) -> None:
    """What a pooler sends: each request a transaction with its role, then another's."""
    with tenants.pooler.connection.transaction():
        tenants.become("alice", "SET LOCAL ROLE {}")
        tenants.pooler.rows(SEARCH, "red fox", FAST)
    of_alice = tenants.logged()
    own = tenants.pooler.value("SELECT session_user::text")
    tenants.pooler.rows(SEARCH, "fox", FAST)
    tenants.become("bob")
    tenants.pooler.rows("RESET ROLE")
    tenants.pooler.rows(SEARCH, "fox", FAST)
    assert [of_alice["role"], *(tenants.logged()["role"] for _ in range(2))] == [
        tenants.roles["alice"], own, own
    ]  # fmt: skip
    # The login role is a member of both, which is not to be them.
    read = "SELECT pgblend._logged_search(%s)"
    assert tenants.pooler.value(read, of_alice["search_id"]) is None


SEARCH_FOR_OTHERS = """
CREATE SCHEMA app;
GRANT USAGE, CREATE ON SCHEMA app TO {bob};
GRANT USAGE ON SCHEMA app TO {alice};
SET SESSION AUTHORIZATION {bob};
CREATE FUNCTION app.search(words text) RETURNS bigint LANGUAGE sql SECURITY DEFINER
AS $$SELECT count(*) FROM blend.hybrid_search(words, options => '{{"mode": "fast"}}')$$;
CREATE FUNCTION app.read(id uuid) RETURNS text LANGUAGE sql SECURITY DEFINER
AS $$SELECT pgblend._logged_search(id)$$;
RESET SESSION AUTHORIZATION;
"""


def test_within_a_definer_function_the_outermost_role_asks(tenants: Tenants) -> None:
    """Rows are those of the function's owner; the query is the caller's, and stays hers."""
    roles = {name: sql.Identifier(role) for name, role in tenants.roles.items()}
    tenants.admin.connection.execute(sql.SQL(SEARCH_FOR_OTHERS).format(**roles))
    tenants.become("alice")
    assert tenants.pooler.value("SELECT app.search('fox')") == 3
    report = tenants.logged()
    assert (report["role"], report["collections"]) == (tenants.roles["alice"], ["of bob"])
    read = "SELECT pgblend._logged_search(%s)"
    assert tenants.pooler.value(read, report["search_id"]) == "fox"
    tenants.become("bob")
    assert tenants.pooler.value(read, report["search_id"]) is None


def test_a_superuser_reads_for_nobody_else(tenants: Tenants) -> None:
    """A superuser is a member of every role, and may be calling somebody's definer function."""
    roles = {name: sql.Identifier(role) for name, role in tenants.roles.items()}
    tenants.admin.connection.execute(sql.SQL(SEARCH_FOR_OTHERS).format(**roles))
    tenants.become("alice")
    tenants.pooler.rows(SEARCH, "red fox", FAST)
    search_id = tenants.logged()["search_id"]
    assert tenants.admin.value("SELECT app.read(%s)", search_id) is None


def test_a_report_cannot_be_forged(tenants: Tenants) -> None:
    """A report of no search is not sent; of a search, what was searched is told, and once."""
    tenants.become("alice")
    forged = {
        "search_id": "00000000-0000-0000-0000-000000000001", "query": "forged", "rows": 0,
        "collections": ["of bob"], "at": "2000-01-01T00:00:00Z", "ms": 1e9, "stages": [],
        "degraded": [], "results": [], "trace": {}, "profile": None, "mode": "fast",
        "purpose": "search", "top_score": None, "role": tenants.roles["bob"],
    }  # fmt: skip
    send = "SELECT pgblend._report_search(%s)"
    tenants.pooler.rows(send, Jsonb(forged))
    assert not drained(tenants.log)
    report = tenants.pooler.value(
        """SELECT (pgblend._search(
            'red fox', 10, NULL, NULL, NULL, %s, NULL, is_reported => false)).report""",
        FAST,
    )
    tenants.pooler.rows(send, Jsonb({**forged, "search_id": report["search_id"]}))
    told = tenants.logged()
    assert (told["role"], told["query"], told["collections"]) == (
        tenants.roles["alice"], "red fox", ["of alice"]
    )  # fmt: skip
    assert told["ms"] < 1e6
    assert told["at"] > "2001"
    assert "lexical" in [stage["name"] for stage in told["stages"]]
    tenants.pooler.rows(send, Jsonb(report))
    assert not drained(tenants.log)


def test_times_of_a_search_are_those_it_took(tenants: Tenants) -> None:
    """Whoever calls the routines themselves cannot say when a search began."""
    tenants.become("alice")
    ran = tenants.pooler.value(
        """SELECT r.report FROM pgblend._run_search('fox', 10, NULL, NULL, NULL, %s, NULL, NULL,
            'none', date_part('epoch', now()) - 1e6, NULL) AS r""",
        FAST.replace("}", ', "timeouts_ms": {"total": 600000}}'),
    )
    times = {"ms": 1e12, "fetch_ms": 1e12, "rows": 0, "trace": {}}
    tenants.pooler.rows(
        "SELECT pgblend._report_search(%s)", Jsonb({**times, "search_id": ran["search_id"]})
    )
    told = tenants.logged()
    assert all(0 <= stage["ms"] < 1e6 for stage in told["stages"])
    assert told["trace"]["time_to_first_result_ms"] == told["ms"] < 1e6


def test_another_role_cannot_report_a_search(tenants: Tenants) -> None:
    tenants.become("alice")
    report = tenants.pooler.value(
        """SELECT (pgblend._search(
            'red fox', 10, NULL, NULL, NULL, %s, NULL, is_reported => false)).report""",
        FAST,
    )
    tenants.become("bob")
    tenants.pooler.rows("SELECT pgblend._report_search(%s)", Jsonb(report))
    assert not drained(tenants.log)


def test_changes_name_the_role(tenants: Tenants, url_as: Callable[..., str]) -> None:
    admin = psycopg.conninfo.conninfo_to_dict(url_as("pgblend_admin"))["user"]
    with connect(url_as(admin)) as opened:
        session = Database(opened)
        opened.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(admin)))
        session.rows("SELECT set_setting('k1', '1.5')")
        session.rows("SELECT set_setting('k1', '1.6')")
        session.rows("SELECT grant_collection('of bob', %s)", tenants.roles["alice"])
    for query in (
        "SELECT changed_by::text FROM setting_changes WHERE name = 'k1'",
        "SELECT changed_by::text FROM settings WHERE name = 'k1'",
        "SELECT granted_by::text FROM pgblend_data.collection_grant WHERE privilege = 'read'",
    ):
        assert set(tenants.admin.column(query)) == {admin}


def test_an_admin_cannot_write_another_s_name_into_the_history(
    tenants: Tenants, connect_as: Callable[..., psycopg.Connection]
) -> None:
    admin = Database(connect_as("pgblend_admin"))
    for column, value in (("changed_by", "'pgblend_admin'"), ("changed_at", "now()")):
        error = admin.error(
            f"INSERT INTO pgblend_data.setting_history (name, {column}) VALUES ('k1', {value})"
        )
        assert error.sqlstate == "42501"
