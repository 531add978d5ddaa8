"""A real server for all tests: a throwaway cluster, a migrated template, clones of it."""

import gc
import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psycopg
import pytest
from coverage.config import CoverageConfig
from hypothesis import HealthCheck, settings
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from pgblend.cli.base.database import connect
from pgblend.cli.operate.state import DATA_DIRECTORY_VARIABLE
from pgblend.migrations import runner
from support.database import Database, add_documents, add_space, embed_waiting
from support.fault_table import pytest_runtest_makereport, pytest_terminal_summary
from support.janitor import Janitor
from support.model_provider import GatewayProcess, ModelProvider
from support.server import throwaway_server

# A slow machine is no error: no example has a deadline, nor has the making of one.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

# A shell starts background jobs with SIGINT ignored, and programs that they start inherit that:
# tests of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = ["pytest_runtest_makereport", "pytest_terminal_summary"]  # hooks are found by name

# What is collected stays: looking for garbage meanwhile takes a third of the time, in each process.
gc.disable()

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"

_numbers = itertools.count()

# A busy machine is no error: a test that means a time limit sets it.
PATIENT = dict.fromkeys(("answer", "embed", "expand", "lexical", "rerank", "total"), 60_000)

# Key, title, content. The two share words, so that statistics would show what is hidden.
LIBRARIES = {
    "open": [
        ("deploy", "Deploy guide", "How to deploy to production: run make deploy and wait."),
        ("wine", "Wine", "The production of wine in France. Red wine and white wine."),
        ("sea", "Sea", "Ships sail the sea when the wind is fair."),
    ],
    "secret": [
        ("plan", "Secret plan", "We deploy the secret weapon to production on Monday."),
        ("rollout", "Rollout", "Deploy, deploy and deploy again: production never sleeps."),
        ("cellar", "Cellar", "The wine in the cellar is for the board alone."),
    ],
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options with which tests write golden files, print faults, take other databases."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")
    parser.addoption(
        "--managed",
        action="store_true",
        help="databases of an owner who is no superuser, with their program outside the server",
    )
    parser.addoption("--fault-table", action="store_true", help="print faults and outcomes")


# Measuring makes Python half as fast again; other folders run the same code, most of it in servers.
MEASURED = ("integrations", "cli", "contract", "managed", "scale", "serve", "unit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long files first, the short tests last, so that all processes end together.

    The pages of the documentation are one file, of minutes. What is measured comes next, and with
    it the gateway that all tests share.
    """
    places = {"docs": 0, "cli": 1, "unit": 3}
    items.sort(key=lambda item: places.get(item.path.parent.name, 2))  # stable
    for item in items:
        if item.path.parent.name not in MEASURED:
            item.add_marker("no_cover")


def pytest_collection_finish() -> None:
    """Look for garbage from here on, and not among the tests."""
    gc.freeze()
    gc.enable()


@dataclass(frozen=True)
class Server:
    """Where the tests' PostgreSQL listens, its superuser, and who owns databases in his place."""

    host: str
    port: int
    user: str
    password: str | None
    owner: str | None = None

    def url(self, database: str = "postgres", **more: str) -> str:
        """Return the conninfo of a database, as the superuser unless `user` is given."""
        given: dict[str, str | int | None] = {"user": self.user, "password": self.password, **more}
        return make_conninfo("", host=self.host, port=self.port, dbname=database, **given)

    @cached_property
    def admin(self) -> psycopg.Connection:
        """The connection that makes and drops databases, for as long as the tests run."""
        return psycopg.connect(self.url(), autocommit=True)

    @contextmanager
    def database(self, name: str, template: str | None = None) -> Iterator[str]:
        """Make a database, empty or as a copy of another; yields its URL, drops it at the end.

        The URL is the superuser's, or the owner's where there is one, who finds pgvector made.
        """
        with Janitor(self.admin, name, template):
            if template:  # a copy does not inherit the database's settings
                self.admin.execute(
                    sql.SQL('ALTER DATABASE {} SET search_path = "$user", public, blend').format(
                        sql.Identifier(name)
                    )
                )
            yield self._given_to_owner(name, template) if self.owner else self.url(name)

    def _given_to_owner(self, name: str, template: str | None) -> str:
        """Give a database to the owner; return its URL."""
        owner = sql.Identifier(str(self.owner))
        self.admin.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(name), owner)
        )
        if not template:
            with psycopg.connect(self.url(name), autocommit=True) as admin:
                admin.execute("CREATE EXTENSION vector")
        return self.url(name, user=str(self.owner), password="secret")


@pytest.fixture(scope="session", autouse=True)
def nobody_s_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test finds the private server, the database or the terminal of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(DATA_DIRECTORY_VARIABLE, str(tmp_path_factory.mktemp("no_server")))
        environment.delenv("PGBLEND_DATABASE_URL", raising=False)
        environment.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def processes_that_are_measured() -> Iterator[None]:
    """What tests start is measured, but does not look for files that nobody imports: .2 s each."""
    with pytest.MonkeyPatch.context() as environment:
        if given := os.environ.get("COVERAGE_PROCESS_CONFIG"):
            config = CoverageConfig.deserialize(given)
            config.source_pkgs = []
            config.run_include = [str(ROOT / name / "*") for name in ("cli", "plpy")]
            environment.setenv("COVERAGE_PROCESS_CONFIG", config.serialize())
        yield


@pytest.fixture(scope="module", autouse=True)
def processes_of_other_folders(request: pytest.FixtureRequest) -> Iterator[None]:
    """What tests that are not measured start is not measured either."""
    with pytest.MonkeyPatch.context() as environment:
        if request.path.parent.name not in MEASURED:
            environment.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        yield


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """The server of PGBLEND_TEST_SERVER (a superuser's URL), else a throwaway one."""
    owner = "pgblend_test_owner" if pytestconfig.option.managed else None
    given = os.environ.get("PGBLEND_TEST_SERVER")
    with ExitStack() as stack:
        if given:
            parts = conninfo_to_dict(given)
            found = Server(
                host=str(parts["host"]),
                port=int(parts.get("port") or 5432),
                user=str(parts.get("user", "postgres")),
                password=parts.get("password"),  # type: ignore[arg-type]
                owner=owner,
            )
        else:
            found = Server(**stack.enter_context(throwaway_server()), owner=owner)
        stack.enter_context(found.admin)
        if owner:
            made = sql.SQL("CREATE ROLE {} LOGIN CREATEROLE PASSWORD 'secret'")
            found.admin.execute(made.format(sql.Identifier(owner)))
        yield found


@pytest.fixture(scope="session")
def template(server: Server) -> Iterator[str]:
    """A database at the newest revision, to clone from, whose searches may take their time."""
    name = f"pgblend_template_{os.getpid()}"
    with server.database(name) as url:
        runner.upgrade(url, managed=bool(server.owner))
        with connect(url) as admin:
            admin.execute("SELECT blend.set_setting('timeouts_ms', %s)", [Jsonb(PATIENT)])
            admin.execute("DELETE FROM pgblend_data.setting_history")  # as good as never set
            admin.execute("VACUUM FULL")  # a clone of it takes half as long
        yield name


@contextmanager
def temporary_database(server: Server, template: str | None = None) -> Iterator[str]:
    """A database, empty or from a template; yields the superuser's URL."""
    with server.database(f"pgblend_test_{os.getpid()}_{next(_numbers)}", template) as url:
        yield url


@pytest.fixture
def new_database(server: Server) -> Iterator[Callable[..., str]]:
    """Make databases, empty or from a template; returns the superuser's URL."""
    with ExitStack() as stack:
        yield lambda template=None: stack.enter_context(temporary_database(server, template))


@pytest.fixture
def database_url(server: Server, template: str) -> Iterator[str]:
    """A fresh clone of the migrated template, as superuser."""
    with temporary_database(server, template) as url:
        yield url


@pytest.fixture(scope="module")
def module_url(server: Server, template: str) -> Iterator[str]:
    """The superuser's URL of a clone that all tests of a module share."""
    with temporary_database(server, template) as url:
        yield url


@pytest.fixture(scope="module")
def module_connection(module_url: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection to that clone."""
    with connect(module_url) as opened:
        yield opened


@pytest.fixture
def db(module_connection: psycopg.Connection) -> Iterator[Database]:
    """The module's clone in a transaction that is rolled back: fast, and as good as fresh."""
    with module_connection.transaction(force_rollback=True):
        database = Database(module_connection)
        yield database
        database.forget()


@pytest.fixture
def committed(connection: psycopg.Connection) -> Database:
    """A clone of the test's own, in autocommit mode: for more sessions than one."""
    return Database(connection)


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection in autocommit mode, with the vector type registered."""
    with connect(database_url) as opened:
        yield opened


@contextmanager
def login_role(server: Server, database: str, *groups: str) -> Iterator[str]:
    """A login role that is a member of the given roles; yields its URL."""
    role = f"pgblend_test_role_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server.url(database), autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret' IN ROLE {}").format(
                sql.Identifier(role), sql.SQL(", ").join(map(sql.Identifier, groups))
            )
        )
        try:
            yield server.url(database, user=role, password="secret")
        finally:
            admin.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.fixture
def url_as(server: Server, connection: psycopg.Connection) -> Iterator[Callable[..., str]]:
    """The URL of the test's database for a new login role that is a member of the given roles."""
    with ExitStack() as stack:
        yield lambda *groups: stack.enter_context(
            login_role(server, connection.info.dbname, *groups)
        )


@pytest.fixture
def connect_as(url_as: Callable[..., str]) -> Iterator[Callable[..., psycopg.Connection]]:
    """Connect to the test's database as a new login role that is a member of the given roles."""
    with ExitStack() as stack:
        yield lambda *groups: stack.enter_context(connect(url_as(*groups)))


@dataclass(frozen=True)
class TwoCollections:
    """Two collections that share words, a reader of `open`, and a database with `open` alone."""

    admin: Database
    reader: Database
    reader_role: str
    only_open: Database


@pytest.fixture(scope="module")
def two_collections(server: Server, template: str) -> Iterator[TwoCollections]:
    """What a reader of one collection out of two may find out: for every search feature.

    Every search as `reader` must answer as `only_open` does, scores included.
    """
    with ExitStack() as stack:
        admin, only_open = (
            Database(
                stack.enter_context(
                    connect(stack.enter_context(temporary_database(server, template)))
                )
            )
            for _ in range(2)
        )
        for database, collections in ((only_open, ["open"]), (admin, ["open", "secret"])):
            add_space(database)
            for collection in collections:
                database.rows("SELECT add_collection(%s)", collection)
                add_documents(database, collection, LIBRARIES[collection])
            embed_waiting(database)
        url = stack.enter_context(
            login_role(server, admin.connection.info.dbname, "pgblend_reader")
        )
        reader = Database(stack.enter_context(connect(url)))
        role = reader.connection.info.user
        admin.rows("SELECT grant_collection('open', %s)", role)
        yield TwoCollections(admin, reader, role, only_open)


@pytest.fixture(scope="session")
def session_provider() -> Iterator[ModelProvider]:
    """The provider behind `session_gateway`; tests take `model_provider`."""
    with ModelProvider() as provider:
        yield provider


@pytest.fixture(scope="session")
def session_gateway(session_provider: ModelProvider) -> Iterator[GatewayProcess]:
    """One gateway for all tests, since it loads litellm for seconds; it keeps nothing in mind."""
    options = ("--cache-size", "0", "--breaker-failures", "1000")
    with GatewayProcess(*options, provider=session_provider) as process:
        yield process


@pytest.fixture
def model_provider(session_provider: ModelProvider) -> Iterator[ModelProvider]:
    """A provider of embeddings that answers deterministically over real HTTP."""
    session_provider.reset()
    yield session_provider
    session_provider.reset()


@pytest.fixture
def gateway(session_gateway: GatewayProcess, model_provider: ModelProvider) -> GatewayProcess:
    """A real gateway process whose litellm talks to the model provider."""
    return session_gateway


@pytest.fixture
def gateway_connection(
    connection: psycopg.Connection, gateway: GatewayProcess, model_provider: ModelProvider
) -> psycopg.Connection:
    """A connection to a database that knows the gateway and embeds by the model provider."""
    connection.execute("SELECT set_setting('gateway_url', to_jsonb(%s::text))", [gateway.url])
    connection.execute(
        "SELECT set_setting('embedding_model', to_jsonb(%s::text))", [model_provider.model]
    )
    return connection


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The judged collections and files beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no test data at {SHARED_DATA}")
    return SHARED_DATA
