"""One database with two tenants' collections, and one door to it, for all tests of a module."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest
from conftest import LIBRARIES, Server, temporary_database

from pgblend.cli.base.database import connect
from support.database import Database, add_documents, add_space, embed_waiting
from support.gateway_process import GatewayProcess
from support.model_library import WEAK
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of

TENANTS = {"open": "tenant_open", "secret": "tenant_secret"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with both values of serve_program; outside is slow where RUNS_BOTH is not set."""
    if "door" in metafunc.fixturenames:
        marks = () if getattr(metafunc.module, "RUNS_BOTH", False) else pytest.mark.slow
        places = ["inside", pytest.param("outside", marks=marks)]
        metafunc.parametrize("place", places, indirect=True, scope="module")


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> str:
    """Where the program runs: inside the server, or outside it, in `serve`."""
    return str(getattr(request, "param", "inside"))


@pytest.fixture(scope="module")
def module_url(server: Server, template: str, place: str) -> Iterator[str]:
    """The superuser's URL of a clone that a module's tests share for one place."""
    with temporary_database(server, template) as url:
        yield url


@dataclass(frozen=True)
class Door:
    """A door, whom it lets in, and a superuser's connection to the database behind it."""

    process: ServeProcess
    admin: Database
    login_url: str
    roles: dict[str, str]  # by collection
    tokens: dict[str, str]

    def client(self, tenant: str = "open") -> httpx.Client:
        """Return a client with a tenant's token."""
        return self.process.client(self.tokens[tenant])


@pytest.fixture(scope="module")
def door(server: Server, module_url: str, place: str) -> Iterator[Door]:
    """A door to a database where each of two roles may read one collection of two."""
    with connect(module_url) as connection:
        admin = Database(connection)
        admin.rows("SELECT set_setting('serve_program', %s)", json.dumps(place))
        add_space(admin)
        for collection, documents in LIBRARIES.items():
            admin.rows("SELECT add_collection(%s)", collection)
            add_documents(admin, collection, documents)
        embed_waiting(admin)
        roles = {name: f"{role}_{os.getpid()}" for name, role in TENANTS.items()}
        with door_role(connection, f"pgblend_door_{os.getpid()}", *roles.values()) as login:
            for collection, role in roles.items():
                admin.rows("SELECT grant_collection(%s, %s)", collection, role)
            tokens = {name: token_of(connection, role) for name, role in roles.items()}
            url = server.url(connection.info.dbname, user=login, password=DOOR_PASSWORD)
            with ServeProcess(url, "--pool-size", "2") as process:
                yield Door(process, admin, url, roles, tokens)


@pytest.fixture
def client(door: Door) -> Iterator[httpx.Client]:
    """A client of the tenant that may read `open`."""
    with door.client() as opened:
        yield opened


@pytest.fixture
def post(client: httpx.Client) -> Callable[..., Any]:
    """Post JSON as that tenant, and return the answer of a call that is taken."""

    def call(path: str, **body: Any) -> Any:
        response = client.post(path, json=body)
        assert response.status_code == 200, response.text
        return response.json()

    return call


@pytest.fixture
def models(door: Door, session_gateway: GatewayProcess, model_provider: Any) -> Iterator[Any]:
    """The door's database asks models for all stages while a test runs."""
    settings = {
        "gateway_url": session_gateway.url,
        "expansion_model": model_provider.chat_model,
        "rerank_model": model_provider.rerank_model,
        "answer_model": model_provider.plain_chat_model,
        **WEAK,
    }
    before = dict(door.admin.rows("SELECT name, value FROM pgblend_data.setting"))
    for name, value in settings.items():
        door.admin.rows("SELECT set_setting(%s, %s)", name, psycopg.types.json.Jsonb(value))
    yield model_provider
    for name in settings:
        if name not in before:
            door.admin.rows("SELECT reset_setting(%s)", name)
