"""Where the documentation's examples run: a folder, a home and a database for each page."""

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import pytest
from psycopg import sql

from pgblend.cli.base.database import connect
from pgblend.cli.operate.services import log_address
from support.documentation import HANDBOOK, ROOT
from support.model_answers import chat_reply
from support.model_provider import GatewayProcess, ModelProvider
from support.shell import PROGRAMS, Shell
from support.wheel import build_wheel, make_environment

# What the chat model cites, where a passage has it.
QUOTED = "Undo a bad release with `make rollback`"
PATIENT = '{"embed": 60000, "expand": 60000, "rerank": 60000, "lexical": 60000, "total": 60000}'


@pytest.fixture(scope="session")
def provided_gateway() -> Iterator[GatewayProcess]:
    """A gateway with the local embedding model, and a provider for all other models."""
    with ModelProvider() as provider, GatewayProcess("--preload", provider=provider) as process:
        provider.reply = cite_or_reply
        yield process


def cite_or_reply(body: dict[str, Any]) -> str:
    """Return a sentence with its citation where a passage has it, else what the provider says.

    Of a question of two parts it answers the first.
    """
    before, found, rest = str(body["messages"][-1]["content"]).partition(QUOTED)
    passages = before.split("--- passage ")
    if not found or len(passages) == 1:
        return chat_reply(body)
    said = f'Run `make rollback` [{passages[-1].split(" ")[0]}: "{QUOTED}"].'
    return f"#1: {said}\n#2: NO ANSWER" if "\n#2: " in rest else said


@pytest.fixture(scope="session")
def handbook_template(
    server, template: str, provided_gateway: GatewayProcess, tmp_path_factory
) -> Iterator[str]:
    """A database with the handbook and its vectors, to clone from."""
    name = f"pgblend_handbook_{os.getpid()}"
    with server.database(name, template) as url:
        with connect(url) as admin:
            address = f'"{provided_gateway.url}"'
            admin.execute("SELECT blend.set_setting('gateway_url', %s)", [address])
            log = f'"{log_address(provided_gateway.url)}"'  # as `pgblend up` sets it
            admin.execute("SELECT blend.set_setting('log_address', %s)", [log])
        shell = Shell(tmp_path_factory.mktemp("handbook"), PGBLEND_DATABASE_URL=url)
        shutil.copytree(HANDBOOK, shell.folder / "handbook")
        shell.do("pgblend ingest handbook --collection handbook")
        # A page's own copy takes the place of these files only where they are gone.
        shutil.rmtree(shell.folder / "handbook")
        yield name


@pytest.fixture
def shell_in_database(
    request: pytest.FixtureRequest, new_database: Callable[..., str], tmp_path: Path
) -> Iterator[Shell]:
    """A shell whose database has the handbook, with its files where a clone has them."""
    url = new_database(request.getfixturevalue("handbook_template"))
    with connect(url) as admin:  # the tests' role may be called pgblend, as a schema is
        name = sql.Identifier(admin.info.dbname)
        admin.execute(sql.SQL("ALTER DATABASE {} SET search_path = public, blend").format(name))
        server = f"{admin.info.host}:{admin.info.port}"
        owner = f"{admin.info.user}:{quote(admin.info.password or '')}"
        place = f"{server}/{admin.info.dbname}"
    shell = Shell(tmp_path, PGBLEND_DATABASE_URL=url)
    shell.places = {
        "postgres@localhost:5432/mydb": f"{owner}@{place}",
        "localhost:5432/mydb": place,
        "postgres@localhost:5432": f"{owner}@{server}",
        **{port: str(free_port()) for port in ("8766", "8767")},
    }
    shutil.copytree(HANDBOOK, shell.folder / HANDBOOK.relative_to(ROOT))
    yield shell
    shell.end_processes()


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the tree, in a folder of its own."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def shell_of_a_stranger(wheel: Path) -> Iterator[Shell]:
    """A shell in an empty folder; its private server has the handbook, and patience.

    pip installs the wheel beside the libraries of the tests, and asks no index.
    """
    beside = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_IGNORE_INSTALLED": "1"}
    with stranger(wheel, with_libraries=True, **beside) as shell:
        yield shell


@pytest.fixture
def shell_with_an_index(wheel: Path) -> Iterator[Shell]:
    """The same, but pip begins with nothing, and gets libraries from the index."""
    with stranger(wheel, with_libraries=False) as shell:
        yield shell


@contextmanager
def stranger(wheel: Path, *, with_libraries: bool, **environment: str) -> Iterator[Shell]:
    """Run a private server for a shell whose Python is new; yields the shell."""
    with tempfile.TemporaryDirectory(prefix="pgblend-docs-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server's account goes through it
        make_environment(folder / "python", with_libraries=with_libraries)
        shell = Shell(folder, PIP_FIND_LINKS=str(wheel.parent), **environment)
        try:
            shell.do(f"pgblend up && pgblend config set timeouts_ms '{PATIENT}'")
            shell.do(f"pgblend ingest {HANDBOOK} --collection handbook")
            shell.do("pgblend psql -q -c 'CREATE DATABASE mydb'")
            shell.places = {
                "postgresql://postgres@localhost:5432/mydb": other_database(shell, "mydb"),
                "ADDRESS": str(ROOT),
            }
            # From here on the stranger's: commands are there once make or pip has brought them.
            mine = (shell.folder / "pgblend" / ".venv" / "bin", folder / "python" / "bin")
            others = os.environ["PATH"].replace(f"{PROGRAMS}{os.pathsep}", "")
            shell.environment["PATH"] = os.pathsep.join([*map(str, mine), others])
            yield shell
        finally:
            shell.do(f"{PROGRAMS / 'pgblend'} down")


def other_database(shell: Shell, name: str) -> str:
    """Return the URL of another database of the private server."""
    _, printed = shell.run("sh", "pgblend up 2>/dev/null")
    url = urlsplit(printed.strip())
    return urlunsplit(url._replace(path=f"/{name}"))
