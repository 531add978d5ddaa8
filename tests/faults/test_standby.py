"""Where nothing may be written: a streaming standby, and read-only transactions of the primary.

Every search, as a reader and with all models, gives the primary's rows there.
"""

import fcntl
import json
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from pgblend.cli.main import cli
from pgblend.cli.operate.cluster import Cluster
from pgblend.migrations import runner
from pgblend.plpy.base.unchanged import MANY
from support.database import Database, add_documents, embed_waiting
from support.model_library import EXPANSION, QUERY, WEAK, fill, use_models
from support.model_provider import GatewayProcess, ModelProvider
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of
from support.server import temporary_cluster
from support.standby import follow, replica, url_of
from support.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fault(
        "a standby and read-only sessions", "the primary's rows; what cannot be is said"
    ),
]

PATIENCE_MS = 600_000  # a first answer waits for litellm, a minute on a busy machine
TIMEOUTS = dict.fromkeys(("lexical", "embed", "expand", "rerank", "answer", "total"), PATIENCE_MS)
THOROUGH = json.dumps({"mode": "thorough", **WEAK})
ANSWER_MODEL = "openai/answers"
NOBODY = "http://127.0.0.1:1"
READERS = ("standby", "read_only")
TIME = re.compile("(^|_)ms$")
Setting = Callable[[str, Any], None]

CALLS = {
    "hybrid_search": f"SELECT to_jsonb(r) FROM hybrid_search('{QUERY}', options => '{THOROUGH}') r",
    "search_explain": f"SELECT search_explain('{QUERY}', options => '{THOROUGH}')",
    "get_context": f"SELECT get_context('{QUERY}', options => '{THOROUGH}')",
    "ask": f"SELECT ask('{QUERY}', options => '{THOROUGH}')",
    "expand_query": f"SELECT expand_query('{QUERY}')",
    "rerank_passages": "SELECT to_jsonb(r) FROM rerank_passages('deploy care', '{x,deploy}') AS r",
    "graph_search": f"SELECT to_jsonb(r) FROM graph_search(query => '{QUERY}') AS r",
    "graph_search from seeds": (
        "SELECT to_jsonb(r) FROM graph_search(ARRAY[graph_node('c', 'deploy')], 2) AS r"
    ),
    "graph_neighbors": "SELECT to_jsonb(r) FROM graph_neighbors(graph_node('c', 'rollout')) AS r",
    "search_diagnose": f"SELECT search_diagnose('{QUERY}', 'wine', options => '{THOROUGH}')",
    "search_facets": f"SELECT to_jsonb(r) FROM search_facets('{QUERY}', '{{$kind}}') AS r",
    "lexical_search": "SELECT to_jsonb(r) FROM lexical_search('\"to production\" or wine') AS r",
    "vector_search": f"SELECT to_jsonb(r) FROM vector_search('{QUERY}') AS r",
    "fuzzy_search": "SELECT to_jsonb(r) FROM fuzzy_search('prodution') AS r",
}
# What each asks of models: the ends of the paths at the provider.
MODELS = {
    "hybrid_search": ["completions", "embeddings", "rerank"],
    "search_explain": ["completions", "embeddings", "rerank"],
    "get_context": ["completions", "embeddings", "rerank"],
    "ask": ["completions", "embeddings", "rerank", "completions"],
    "expand_query": ["completions"],
    "rerank_passages": ["rerank"],
    "graph_search": ["embeddings"],
    "search_diagnose": ["embeddings", "completions", "embeddings", "rerank"],
    "search_facets": ["embeddings"],
    "vector_search": ["embeddings"],
}


def reply(body: dict[str, Any]) -> str:
    """What the chat models say: an expansion, or an answer that its passage bears out."""
    if body["model"] not in ANSWER_MODEL:
        return json.dumps(EXPANSION)
    before, _, _ = body["messages"][1]["content"].partition("deploy the service")
    number = before.rsplit("--- passage ", 1)[1].split(" ", 1)[0]
    return f'With care [{number}: "to production with care"].'


@dataclass(frozen=True)
class Place:
    """A primary's superuser and its reader, and the same reader where nothing may be written."""

    cluster: Cluster
    admin: Database
    reader: Database
    standby: Database
    read_only: Database

    @property
    def superuser_url(self) -> str:
        """The standby, for who may do everything."""
        return make_conninfo(self.standby.url, user="pgblend", password=self.cluster.password)

    def set(self, name: str, value: Any) -> None:
        """Set a setting, here and on the standby."""
        self.admin.rows("SELECT set_setting(%s, %s)", name, json.dumps(value))
        follow(self.admin, self.standby)


@pytest.fixture(scope="module")
def primary() -> Iterator[Cluster]:
    """A server that keeps a log for standbys."""
    settings = {"wal_level": "replica", "max_wal_senders": "4", "synchronous_commit": "on"}
    with temporary_cluster(**settings) as cluster:
        runner.upgrade(url_of(cluster))
        yield cluster


@pytest.fixture(scope="module")
def place(
    primary: Cluster, session_gateway: GatewayProcess, session_provider: ModelProvider
) -> Iterator[Place]:
    """The library of the models' tests, with links, on a primary and its standby."""
    with ExitStack() as stack:
        admin = Database(stack.enter_context(connect(url_of(primary))))
        fill(admin)
        for source, target in (("deploy", "rollout"), ("rollout", "sea")):
            admin.rows(
                "SELECT add_edge(graph_node('c', %s), graph_node('c', %s), 'link')", source, target
            )
        admin.rows("CREATE ROLE reader LOGIN PASSWORD 'secret' IN ROLE pgblend_reader")
        admin.rows("SELECT grant_collection('c', 'reader')")
        admin.rows("SELECT set_setting('timeouts_ms', %s)", json.dumps(TIMEOUTS))
        admin.rows("SELECT set_setting('answer_model', %s)", json.dumps(ANSWER_MODEL))
        use_models(admin, session_gateway, session_provider)
        standby = stack.enter_context(replica(primary))
        reader, follower, read_only = (
            Database(stack.enter_context(connect(url_of(at, user="reader", password="secret"))))
            for at in (primary, standby, primary)
        )
        read_only.rows("SET default_transaction_read_only = on")
        yield Place(primary, admin, reader, follower, read_only)


@pytest.fixture(autouse=True)
def provider(model_provider: ModelProvider) -> ModelProvider:
    model_provider.reply = reply
    return model_provider


@pytest.fixture
def setting(place: Place) -> Iterator[Setting]:
    """Set a setting for the test, here and on the standby."""
    before: dict[str, Any] = {}

    def change(name: str, value: Any) -> None:
        before[name] = place.admin.value("SELECT get_setting(%s)", name)
        place.set(name, value)

    yield change
    for name, value in before.items():
        place.set(name, value)


def told(db: Database, call: str) -> Any:
    """What a call gives, without the times that it took."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            named = value.items()
            return {key: timeless(v) for key, v in named if not TIME.search(key)}
        return [timeless(element) for element in value] if isinstance(value, list) else value

    return timeless(db.column(CALLS[call]))


def asked(provider: ModelProvider) -> list[str]:
    """What models were asked since the last reset: the ends of the paths."""
    return [headers[":path"].rpartition("/")[2] for headers in provider.headers]


def degraded(rows: list[Any]) -> list[str]:
    """The stages that all the rows, or the only document, call degraded."""
    (notes,) = {tuple(row["degraded"]) for row in rows}
    return [note.partition(":")[0] for note in notes]


@pytest.mark.parametrize("where", READERS)
def test_nothing_can_be_written_there(place: Place, where: str) -> None:
    db = getattr(place, where)
    assert db.value("SHOW transaction_read_only") == "on"
    assert db.value("SELECT pg_is_in_recovery()") is (where == "standby")
    write = "CREATE ROLE r" if where == "standby" else "CREATE TEMP TABLE t ()"
    assert db.error(write).sqlstate == "25006"


@pytest.mark.parametrize("where", READERS)
@pytest.mark.parametrize("call", CALLS)
def test_the_rows_are_those_of_the_primary(
    place: Place, provider: ModelProvider, where: str, call: str
) -> None:
    expected = told(place.reader, call)
    provider.headers.clear()
    db = getattr(place, where)
    db.warnings()
    found = told(db, call)
    assert asked(provider) == MODELS.get(call, [])
    assert found == expected
    assert found
    if "degraded" in found[0]:
        assert degraded(found) == []
    assert db.warnings() == []


@pytest.mark.parametrize("where", READERS)
def test_an_answer_is_borne_out(place: Place, where: str) -> None:
    (found,) = told(getattr(place, where), "ask")
    assert found["answer"].startswith("With care [")
    assert [c["source_key"] for c in found["citations"] if c["isChecked"]] == ["deploy"]
    assert [found["meta"][name] for name in ("expanded", "reranked", "vectorsUsed")] == [True] * 3


@pytest.mark.parametrize("where", READERS)
@pytest.mark.parametrize(
    ("call", "stages"),
    {
        "hybrid_search": ["expand", "vector", "rerank"],
        "search_explain": ["expand", "vector", "rerank"],
        "get_context": ["expand", "vector", "rerank"],
        "ask": ["expand", "vector", "rerank", "answer"],
    }.items(),
)
def test_without_a_gateway_it_says_what_it_lacks(
    place: Place, setting: Setting, where: str, call: str, stages: list[str]
) -> None:
    setting("gateway_url", NOBODY)
    db = getattr(place, where)
    db.warnings()
    found = told(db, call)
    assert degraded(found) == stages
    assert len(db.warnings()) == len(stages)
    assert found == told(place.reader, call)


@pytest.mark.parametrize("where", READERS)
@pytest.mark.parametrize(
    "call", ["expand_query", "rerank_passages", "graph_search", "vector_search"]
)
def test_what_is_nothing_without_a_gateway_is_an_error(
    place: Place, setting: Setting, where: str, call: str
) -> None:
    setting("gateway_url", NOBODY)
    assert getattr(place, where).error(CALLS[call]).sqlstate == "PB008"


def test_model_calls_are_counted_there(place: Place, setting: Setting) -> None:
    """Each server has places of its own, though a standby begins as a copy of the folder."""
    setting("model_calls", {"most": 1})
    assert told(place.reader, "expand_query") == told(place.standby, "expand_query")
    with connect(place.superuser_url) as connection:
        (database,) = Database(connection).row(
            "SELECT oid FROM pg_database WHERE datname = current_database()"
        )
        folder = Path(Database(connection).value("SHOW data_directory")) / "pgblend_model_calls"
    with (folder / f"{database}.0").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        error = place.standby.error(CALLS["expand_query"])
        assert "no place left for a model call: 1 run already" in str(error.message_primary)
        assert degraded(told(place.standby, "hybrid_search")) == ["expand", "vector", "rerank"]
        assert degraded(told(place.reader, "hybrid_search")) == []
    assert degraded(told(place.standby, "hybrid_search")) == []


def test_a_session_sees_what_the_primary_commits(place: Place) -> None:
    """Also what a server process keeps in mind of the index is that of its snapshot."""
    query = "SELECT source_key FROM hybrid_search('zeppelin', options => '{\"mode\": \"fast\"}')"
    words = "SELECT source_key FROM lexical_search('zeppelin OR sea') ORDER BY 1"
    assert place.standby.column(words) == ["sea"]
    with place.admin.connection.transaction():
        add_documents(place.admin, "c", [("zeppelin", "", "a zeppelin above the sea")])
        embed_waiting(place.admin)
    follow(place.admin, place.standby)
    assert place.standby.column(query)[0] == "zeppelin"
    for change in ("lexical_seal('c')", "lexical_rebuild('c')"):
        place.admin.rows(f"SELECT {change}")
        follow(place.admin, place.standby)
        assert place.standby.column(words) == ["sea", "zeppelin"]
    place.admin.rows("SELECT delete_document('c', 'zeppelin')")
    follow(place.admin, place.standby)
    assert place.standby.column(words) == ["sea"]


def test_searches_there_are_reported(place: Place, setting: Setting) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        setting("log_address", f"127.0.0.1:{receiver.getsockname()[1]}")
        (row, *_) = place.standby.column(CALLS["hybrid_search"])
        report = json.loads(receiver.recv(65536))
    assert (report["search_id"], report["role"]) == (row["details"]["search_id"], "reader")


@pytest.mark.parametrize(
    ("role", "arguments"),
    [
        ("reader", ("query", QUERY, "--json")),
        ("reader", ("search", QUERY, "--json")),
        ("reader", ("vsearch", QUERY, "--json")),
        ("reader", ("ask", QUERY, "--json")),
        ("reader", ("context", QUERY)),
        ("reader", ("doctor",)),
        ("superuser", ("doctor",)),
        ("superuser", ("status",)),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_commands(place: Place, role: str, arguments: tuple[str, ...]) -> None:
    url = place.standby.url if role == "reader" else place.superuser_url
    result = CliRunner().invoke(cli, ["--database-url", url, *arguments])
    assert (result.exit_code, result.exception) == (0, None), result.output
    assert "read-only" not in result.output
    if (role, *arguments) == ("superuser", "doctor"):
        assert "server's Python: Python 3" in result.output


def test_a_write_there_says_what_to_do(place: Place) -> None:
    url = place.superuser_url
    result = CliRunner().invoke(cli, ["--database-url", url, "collection", "add", "more"])
    assert result.exit_code != 0
    assert "use a server that accepts writes" in result.output


def test_a_standby_that_is_promoted_goes_on(place: Place) -> None:
    """It has everything, and takes writes and finds them."""
    expected = told(place.reader, "hybrid_search")
    with replica(place.cluster, "promoted") as standby, connect(url_of(standby)) as connection:
        db = Database(connection)
        follow(place.admin, db)
        assert db.value("SELECT pg_promote(true, 60)") is True
        assert told(db, "hybrid_search") == expected
        add_documents(db, "c", [("zeppelin", "", "a zeppelin")])
        assert db.column("SELECT source_key FROM lexical_search('zeppelin')") == ["zeppelin"]
    assert place.reader.column("SELECT title FROM documents WHERE source_key = 'zeppelin'") == []


WAITING = "SELECT source_key, degraded FROM lexical_search('airship', options => %s)"


def test_a_search_says_how_far_behind_it_is(place: Place) -> None:
    """Replay stands still: what was committed since is named, and found once it is there."""
    with connect(place.superuser_url) as connection:
        holder = Database(connection)
        holder.rows("SELECT pg_wal_replay_pause()")
        wait_until(lambda: holder.value("SELECT pg_get_wal_replay_pause_state()") == "paused")
        try:
            add_documents(place.admin, "c", [("airship", "", "an airship above the sea")])
            lsn = place.admin.value("SELECT pg_current_wal_insert_lsn()")
            options = json.dumps({"wait_for": lsn, "strict": False})
            for source_key, told in place.standby.rows(WAITING, options):
                assert source_key != "airship"
                assert told[0].startswith("replica: this standby is ")
            said = place.standby.error(WAITING, json.dumps({"wait_for": lsn, "strict": True}))
            assert said.sqlstate == "PB015"
            assert f"of the log behind {lsn}" in str(said.message_primary)
            asked = ["--database-url", place.standby.url, "search", "airship", "--json"]
            given = ["--option", f"wait_for={lsn}", "--option", 'timeouts_ms={"total": 300}']
            late = json.loads(CliRunner().invoke(cli, [*asked, *given]).stdout)
            assert "airship" not in [row["source_key"] for row in late["results"]]
            assert f"of the log behind {lsn}" in late["degraded"][0]
        finally:
            holder.rows("SELECT pg_wal_replay_resume()")
    found = json.loads(CliRunner().invoke(cli, [*asked, *given[:2]]).stdout)
    assert [row["source_key"] for row in found["results"]] == ["airship"]
    assert found["degraded"] == []
    assert place.standby.rows(WAITING, options) == [("airship", [])]
    assert place.reader.rows(WAITING, options) == [("airship", [])]  # the primary has it all
    place.admin.rows("SELECT delete_document('c', 'airship')")
    follow(place.admin, place.standby)


def test_a_door_at_a_standby_waits_for_what_was_written(place: Place) -> None:
    """Over HTTP: what is missing is named while replay stands still, and found once it is there."""
    with ExitStack() as stack:
        admin, tenant = place.admin, "standby_tenant"
        login = stack.enter_context(door_role(admin.connection, "standby_door", tenant))
        admin.rows("SELECT grant_collection('c', %s)", tenant)
        stack.callback(admin.rows, "SELECT revoke_collection('c', %s)", tenant)
        token = token_of(admin.connection, tenant)
        follow(admin, place.standby)
        url = make_conninfo(place.standby.url, user=login, password=DOOR_PASSWORD)
        client = stack.enter_context(stack.enter_context(ServeProcess(url)).client(token))
        holder = Database(stack.enter_context(connect(place.superuser_url)))
        holder.rows("SELECT pg_wal_replay_pause()")
        stack.callback(holder.rows, "SELECT pg_wal_replay_resume()")
        wait_until(lambda: holder.value("SELECT pg_get_wal_replay_pause_state()") == "paused")
        add_documents(admin, "c", [("balloon", "", "a balloon above the clouds")])
        stack.callback(admin.rows, "SELECT delete_document('c', 'balloon')")
        lsn = admin.value("SELECT pg_current_wal_insert_lsn()")

        def search(**options: Any) -> httpx.Response:
            given = {"wait_for": lsn, "weights": {"vector": 0}, **options}
            return client.post("/v1/search", json={"query": "balloon", "options": given})

        late = search(timeouts_ms={"total": 300})
        assert late.status_code == 200, late.text
        assert "balloon" not in [row["source_key"] for row in late.json()["results"]]
        assert f"of the log behind {lsn}" in late.json()["degraded"][0]
        refused = search(timeouts_ms={"total": 300}, strict=True)
        assert refused.status_code >= 400
        assert f"of the log behind {lsn}" in refused.text
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(search, timeouts_ms=TIMEOUTS)
            holder.rows("SELECT pg_wal_replay_resume()")
            found = waiting.result(timeout=60).json()
        assert [row["source_key"] for row in found["results"]] == ["balloon"]
        assert not [one for one in found["degraded"] if one.startswith("replica")]


def test_what_is_waited_for_is_checked(place: Place) -> None:
    for wrong in ("soon", 5):
        said = place.reader.error(WAITING, json.dumps({"wait_for": wrong}))
        assert said.sqlstate == "22023"
        assert "a place in the log" in str(said.message_primary)


FOUND = "SELECT source_key FROM lexical_search('zirconium', 100)"


def test_a_right_that_is_lost_is_lost_there(place: Place) -> None:
    """Also for who reads so much that a session keeps it; the loss was under way when it did."""
    admin, groups = place.admin, [f"g{n}" for n in range(MANY + 1)]
    admin.rows("CREATE ROLE holder IN ROLE pgblend_reader; SELECT add_collection('house')")
    admin.rows("SELECT grant_collection('house', 'holder')")
    store = "SELECT ingest_document('house', %s, %s, readers => ARRAY['group:' || %s])"
    for group in groups:
        admin.rows(store, group, f"The zirconium of {group}.", group)
    signed = admin.value("SELECT sign_groups(%s, 'holder')", groups)
    with connect(url_of(place.cluster)) as other, connect(place.superuser_url) as connection:
        session, losing = Database(connection), Database(other)
        losing.rows("BEGIN; SELECT revoke_collection('house', 'holder')")
        admin.rows("CREATE TABLE later ()")  # a transaction that begins later and is over before
        follow(admin, place.standby)
        session.rows("SELECT set_config('pgblend.groups', %s, false)", signed)
        session.rows("SET ROLE holder")
        assert [sorted(session.column(FOUND)) for _ in range(3)] == [sorted(groups)] * 3
        losing.rows("COMMIT")
        follow(admin, place.standby)
        assert session.column(FOUND) == []
    admin.rows("SELECT remove_collection('house'); DROP ROLE holder; DROP TABLE later")
