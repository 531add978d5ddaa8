"""Who gets in, and as whom: tokens, the role of the login, hosts and origins, limits."""

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import httpx
import psycopg
import psycopg.conninfo
import pytest
from click.testing import CliRunner, Result
from conftest import Server, login_role
from jsonschema import Draft202012Validator

import pgblend as pgblend_package
from pgblend.cli.base.database import connect
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.revision import OTHER_PROGRAM
from pgblend.cli.doors.operations import printed
from pgblend.cli.doors.tokens import check_login_role
from pgblend.cli.main import cli
from support.database import Database
from support.serve_process import ServeProcess, door_role, token_of, told

RUNS_BOTH = True


@pytest.fixture
def pgblend(door: Any) -> Callable[..., Result]:
    """Run `pgblend` on the door's database as a superuser."""
    return lambda *words: CliRunner().invoke(
        cli, ["--database-url", door.admin.url, *map(str, words)]
    )


@pytest.fixture
def superuser(door: Any, server: Server) -> Iterator[Database]:
    """A superuser in the door's database, whoever owns that."""
    url = server.url(door.admin.connection.info.dbname)
    with psycopg.connect(url, autocommit=True) as connection:
        yield Database(connection)


def test_a_token_is_made_listed_and_revoked(door: Any, pgblend: Callable[..., Result]) -> None:
    made = pgblend("serve", "token", "make", "--role", door.roles["open"], "--name", "a page")
    assert made.exit_code == 0, made.stderr
    text = made.stdout.strip()
    listed = pgblend("serve", "token", "list", "--json")
    Draft202012Validator(printed("serve-token-list")).validate(json.loads(listed.stdout))
    (row,) = [t for t in json.loads(listed.stdout)["tokens"] if t["name"] == "a page"]
    assert row["role"] == door.roles["open"]
    assert row["scopes"] == ["search", "ask"]
    assert text not in listed.stdout
    with door.process.client(text) as client:
        assert client.post("/v1/search", json={"query": "wine"}).status_code == 200
        refused = client.post("/v1/feedback", json=FEEDBACK)
        assert refused.status_code == 403
        assert (
            refused.json()["detail"] == "the token is not good for feedback, only for search, ask"
        )
        assert pgblend("serve", "token", "revoke", row["id"]).exit_code == 0
        refused = client.post("/v1/search", json={"query": "wine"})
        assert refused.status_code == 401
        assert refused.json()["detail"] == "the token is unknown, or was revoked"
    assert pgblend("serve", "token", "revoke", row["id"]).exit_code == 1


FEEDBACK = {"search_id": "00000000-0000-0000-0000-000000000000", "chunk_id": 1, "grade": 1}


def test_the_database_has_digests_alone(door: Any) -> None:
    stored = str(door.admin.rows("SELECT t::text FROM pgblend_data.access_token AS t"))
    assert not any(token in stored or token[4:] in stored for token in door.tokens.values())


def test_an_expired_token(door: Any) -> None:
    token = token_of(door.admin.connection, door.roles["open"], days=-1)
    with door.process.client(token) as client:
        refused = client.post("/v1/search", json={"query": "wine"})
    assert (refused.status_code, refused.json()["detail"]) == (401, "the token has expired")


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", "Basic eDp4"])
def test_without_a_token_nobody_gets_in(door: Any, header: str | None) -> None:
    with door.process.client() as client:
        headers = {} if header is None else {"Authorization": header}
        refused = client.post("/v1/search", json={"query": "wine"}, headers=headers)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"


def test_a_role_that_no_token_is_made_for(
    door: Any, server: Server, pgblend: Callable[..., Result]
) -> None:
    for role, said in (("nobody_knows", "there is no role"), (server.user, "sees all rows")):
        refused = pgblend("serve", "token", "make", "--role", role, "--name", "x")
        assert refused.exit_code == 1
        assert said in refused.stderr


def test_an_admin_makes_no_token_for_a_role_of_others(door: Any, server: Server) -> None:
    database = door.admin.connection.info.dbname
    with login_role(server, database, "pgblend_admin") as url:
        words = ["--database-url", url, "serve", "token", "make", "--name", "x", "--role"]
        refused = CliRunner().invoke(cli, [*words, door.roles["secret"]])
        assert "not yours to give away" in refused.stderr
        with psycopg.connect(url) as admin, pytest.raises(psycopg.errors.InsufficientPrivilege):
            admin.execute(
                "INSERT INTO pgblend_data.access_token (name, digest, role_name, scopes,"
                " expires_at) VALUES ('x', sha256('x'), %s, '{search}', now() + '1 day')",
                [door.roles["secret"]],
            )
    with (
        login_role(server, database, "pgblend_reader") as url,
        psycopg.connect(url) as reader,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        reader.execute("SELECT * FROM pgblend_data.access_token")


def test_an_admin_of_the_door_takes_no_token_over(door: Any, server: Server) -> None:
    """Who is a member of both roles would put a digest of their own in place of another role's."""
    groups = ("pgblend_admin", "pgblend_serve")
    with (
        login_role(server, door.admin.connection.info.dbname, *groups) as url,
        psycopg.connect(url) as admin,
    ):
        of_others = "WHERE role_name = %s AND NOT is_link"
        counted = f"SELECT FROM pgblend_data.access_token {of_others}"
        assert admin.execute(counted, [door.roles["secret"]]).rowcount > 0
        taken = f"UPDATE pgblend_data.access_token SET digest = sha256('x') {of_others}"
        assert admin.execute(taken, [door.roles["secret"]]).rowcount == 0


def test_the_login_may_do_nothing_by_itself(door: Any) -> None:
    with psycopg.connect(door.login_url, autocommit=True) as login:
        for statement in (
            "SELECT * FROM blend.hybrid_search('wine')",
            "SELECT * FROM blend.documents",
            "SELECT digest FROM pgblend_data.access_token",
            "SELECT pgblend._token_role(sha256('x'), 'search')",
            "INSERT INTO pgblend_data.access_token DEFAULT VALUES",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                login.execute(statement)


def test_a_token_whose_role_the_login_may_not_take(
    door: Any, server: Server, superuser: Database
) -> None:
    with login_role(server, door.admin.connection.info.dbname, "pgblend_reader") as url:
        role = psycopg.conninfo.conninfo_to_dict(url)["user"]
        superuser.rows(f"GRANT {role} TO {door.admin.connection.info.user}")
        with door.process.client(token_of(door.admin.connection, str(role))) as client:
            refused = client.post("/v1/search", json={"query": "wine"})
    assert refused.status_code == 403
    assert refused.json()["type"] == "urn:pgblend:problem:role-not-granted"


def test_a_role_without_rights_hears_which_grant(door: Any, server: Server) -> None:
    login = psycopg.conninfo.conninfo_to_dict(door.login_url)["user"]
    with login_role(server, door.admin.connection.info.dbname, "pg_monitor") as url:
        role = str(psycopg.conninfo.conninfo_to_dict(url)["user"])
        door.admin.rows(f"GRANT {role} TO {login}")
        with door.process.client(token_of(door.admin.connection, role)) as client:
            for path, body in (
                ("/v1/search", {"query": "wine"}),
                ("/v1/facets", {"query": "wine", "keys": ["a"]}),
            ):
                refused = client.post(path, json=body)
                assert refused.status_code == 403, refused.text
                assert "GRANT pgblend_reader TO" in refused.json()["hint"]


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        ("INHERIT", "inherits the rights"),
        ("SUPERUSER NOINHERIT", "is a superuser"),
        ("BYPASSRLS NOINHERIT", "goes past row security"),
        ("CREATEROLE NOINHERIT", "makes roles"),
    ],
)
def test_a_login_that_could_do_more_is_refused(
    door: Any, server: Server, superuser: Database, alter: str, said: str
) -> None:
    name = f"pgblend_other_door_{os.getpid()}"
    with door_role(door.admin.connection, name):
        superuser.rows(f"ALTER ROLE {name} {alter}")
        url = server.url(door.admin.connection.info.dbname, user=name, password="secret")
        refused = CliRunner().invoke(cli, ["serve", "--login-url", url, "--port", "0"])
        superuser.rows(f"ALTER ROLE {name} NOSUPERUSER")  # whoever made it may drop it again
    assert refused.exit_code == 1
    if server.owner and alter.startswith("SUPERUSER"):  # it would run what no superuser made
        assert "belongs to others, no superusers" in refused.stderr
        return
    assert said in refused.stderr
    assert "NOINHERIT" in refused.stderr


def test_a_login_that_was_made_to_inherit_is_refused_while_it_does(
    door: Any, server: Server
) -> None:
    """NOINHERIT alone changes no membership that is there, since PostgreSQL 16."""
    name = f"pgblend_other_door_{os.getpid()}"
    database = door.admin.connection.info.dbname
    door.admin.rows(f"CREATE ROLE {name} LOGIN PASSWORD 'secret' IN ROLE pgblend_serve")
    try:
        door.admin.rows(f"ALTER ROLE {name} NOINHERIT")
        inherits = door.admin.value("SELECT pg_has_role(%s, 'pgblend_serve', 'USAGE')", name)
        assert inherits is (door.admin.connection.info.server_version >= 160_000)
        with connect(server.url(database, user=name, password="secret")) as login:
            if inherits:
                with pytest.raises(UserError, match="inherits the rights of its memb") as refused:
                    check_login_role(login)
                door.admin.rows(refused.value.hint)
            check_login_role(login)
    finally:
        door.admin.rows(f"DROP ROLE {name}")


def test_a_login_that_owns_or_may_become_more_is_refused(
    door: Any, server: Server, superuser: Database
) -> None:
    name = f"pgblend_other_door_{os.getpid()}"
    with door_role(door.admin.connection, name):
        url = server.url(door.admin.connection.info.dbname, user=name, password="secret")
        serve = ["serve", "--login-url", url, "--port", "0"]
        superuser.rows("CREATE TABLE owned ()")
        superuser.rows(f"ALTER TABLE owned OWNER TO {name}")
        assert "owns tables" in CliRunner().invoke(cli, serve).stderr
        superuser.rows("DROP TABLE owned")
        superuser.rows(f"GRANT {server.user} TO {name}")
        assert f"may become {server.user}" in CliRunner().invoke(cli, serve).stderr
        superuser.rows(f"REVOKE {server.user} FROM {name}")
        door.admin.rows(f"REVOKE pgblend_serve FROM {name}")
        assert "may not look up tokens" in CliRunner().invoke(cli, serve).stderr


def test_off_loopback_only_with_tls(door: Any) -> None:
    serve = ["serve", "--login-url", door.login_url, "--port", "0", "--host", "0.0.0.0"]
    refused = CliRunner().invoke(cli, serve)
    assert refused.exit_code == 1
    assert "in plain text" in refused.stderr
    assert "--behind-proxy" in refused.stderr
    assert CliRunner().invoke(cli, [*serve, "--tls-cert", "x"]).exit_code == 2


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "["}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ({"Host": "localhost:1", "Origin": "http://localhost:2"}, 403),
    ],
)
def test_other_hosts_and_origins(
    client: httpx.Client, headers: dict[str, str], status: int
) -> None:
    answer = client.post("/v1/search", json={"query": "wine"}, headers=headers)
    assert answer.status_code == status
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.fixture
def strict_door(door: Any) -> Iterator[ServeProcess]:
    """A door that lets a token call twice, and then once in a hundred seconds."""
    options = ("--rate", "0.01", "--burst", "2", "--pool-size", "1", "--allow-host", "door.example")
    with ServeProcess(door.login_url, *options) as process:
        yield process


def test_a_token_s_rate(door: Any, strict_door: ServeProcess) -> None:
    with strict_door.client(door.tokens["open"]) as client:
        host = {"Host": "door.example"}
        body = {"query": "wine"}
        status = [client.post("/v1/search", json=body, headers=host).status_code for _ in range(3)]
        assert status == [200, 200, 429]
        refused = client.post("/v1/search", json=body)
        assert 50 < int(refused.headers["retry-after"]) <= 100
    with strict_door.client(door.tokens["secret"]) as client:
        assert client.post("/v1/search", json=body).status_code == 200


PATHS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/search", {"query": "deploy production wine"}),
    ("/v1/context", {"query": "deploy production wine"}),
    ("/v1/facets", {"query": "deploy production wine", "keys": ["$collection", "$title"]}),
    ("/v1/diagnose", {"query": "deploy production wine", "document": "plan"}),
    ("/v1/ask", {"query": "deploy production wine"}),
]


@pytest.mark.extended
@pytest.mark.parametrize("switches", [8, pytest.param(1000, marks=pytest.mark.slow)])
def test_two_tenants_over_one_connection(door: Any, switches: int) -> None:
    """Each answer is that of a session which has served nobody else."""
    chance = random.Random(24)
    expected = {}
    for tenant, token in door.tokens.items():
        with ServeProcess(door.login_url, "--pool-size", "1") as fresh, fresh.client(token) as own:
            for path, body in PATHS:
                expected[tenant, path] = told(own, path, body)
    assert all(expected["open", path] != expected["secret", path] for path, _ in PATHS)
    with ServeProcess(door.login_url, "--pool-size", "1") as shared:
        clients = {tenant: shared.client(token) for tenant, token in door.tokens.items()}
        for number in range(switches):
            tenant = list(clients)[number % 2]
            path, body = chance.choice(PATHS)
            assert told(clients[tenant], path, body) == expected[tenant, path]
        for client in clients.values():
            client.close()


@pytest.mark.extended
def test_serve_of_another_version_has_the_database_search(
    door: Any, server: Server, tmp_path: Path
) -> None:
    """Its program is not the one that the database's routines are made for, which is told.

    On a managed server there is no other program: the search is refused.
    """
    (folder,) = pgblend_package.__path__
    copytree(folder, tmp_path / "pgblend")
    with (tmp_path / "pgblend" / "plpy" / "base" / "setting_rules.py").open("a") as source:
        source.write("# Another version.\n")
    body = {"query": "wine"}
    with door.client() as own:
        expected = told(own, "/v1/search", body)
    elsewhere = {"PYTHONPATH": str(tmp_path)}
    with (
        ServeProcess(door.login_url, environment=elsewhere) as process,
        process.client(door.tokens["open"]) as client,
    ):
        if server.owner:
            refused = client.post("/v1/search", json=body)
            assert (refused.status_code, refused.json()["sqlstate"]) == (503, "PB012")
            return
        assert told(client, "/v1/search", body) == expected
        place = door.admin.value("SELECT get_setting('serve_program')")
        assert (OTHER_PROGRAM in process.stderr) == (place == "outside")
