"""Vectors at ingest, from a real gateway whose models answer well, badly or not at all."""

import json

import pytest

from pgblend.integrations.client import Client, StoredText
from support.model_provider import Behaviour, GatewayProcess


@pytest.fixture
def ingest(pgblend, parse_valid, tmp_path):
    """Write texts as files, run `pgblend ingest` on them; return exit code, report and stderr."""

    def run(*texts, options=()):
        for text in texts:
            (tmp_path / f"{text.replace(' ', '-')[:40]}.txt").write_text(text)
        result = pgblend("ingest", str(tmp_path), "--collection", "c", "--json", *options)
        report = parse_valid(result, "ingest-report") if result.stdout else None
        return result.exit_code, report, result.stderr

    return run


def vectors(connection):
    spaces = connection.execute("SELECT table_name FROM blend.embedding_spaces").fetchall()
    if not spaces:
        return 0
    return connection.execute(f"SELECT count(*) FROM pgblend_data.{spaces[0][0]}").fetchone()[0]


def test_first_space_is_made_and_all_chunks_get_a_vector(
    ingest, gateway_connection, model_provider
):
    texts = [f"walrus number {number}" for number in range(250)]
    code, report, _ = ingest(*texts)
    assert (code, report["embedded"], report["waiting"], report["degraded"]) == (0, 250, 0, [])
    spaces = gateway_connection.execute(
        "SELECT name, model, dimensions, active, waiting FROM blend.embedding_spaces"
    ).fetchall()
    assert spaces == [("default", model_provider.model, 384, True, 0)]
    assert vectors(gateway_connection) == 250
    inputs = [len(body["input"]) for body in model_provider.bodies]
    assert max(inputs) == 100
    found = gateway_connection.execute(
        "SELECT content FROM blend.vector_search('walrus number 17', 1)"
    ).fetchone()
    assert found == ("walrus number 17",)


@pytest.mark.slow
@pytest.mark.parametrize("is_first", [True, False])
def test_a_space_whose_vectors_callers_bring_queues_nothing(
    ingest, pgblend, gateway_connection, database_url, is_first
):
    """Others' texts never wait in it, whether the store was there first or the documents were."""
    if not is_first:
        ingest("early walrus")
    with Client(database_url) as client:
        client.make_collection("mine")
        for content in ("tern", "arctic tern"):  # replaced with its vector
            texts = [
                StoredText("n1", content, {}, [0.5, 1.0]),
                StoredText("n2", "a heron", {}, None),
            ]
            client.store("mine", texts, "MyEmbeddings", "mine")
    code, report, stderr = ingest("late walrus")
    assert (code, report["waiting"], report["degraded"]) == (0, 0, [])
    assert "MyEmbeddings" not in stderr
    gateway_connection.execute("SELECT blend.set_summary(id, 's') FROM pgblend_data.document")
    drained = pgblend("worker", "--drain")
    assert (drained.exit_code, "MyEmbeddings" in drained.stderr) == (0, False)
    spaces = json.loads(pgblend("space", "list", "--json").stdout)["spaces"]
    told = ("name", "active", "vectors", "waiting", "missing", "brings_vectors")
    of_model = 4 - is_first
    assert [tuple(space[name] for name in told) for space in spaces] == [
        ("default", True, of_model, 0, 0, False),
        ("mine", False, 1, 0, 0, True),
    ]
    checks = json.loads(pgblend("doctor", "--json").stdout)["checks"]
    troubles = [check for check in checks if check["status"] != "ok"]
    assert not [check for check in troubles if "mine" in str(check) or "embedding" in str(check)]
    refused = pgblend("space", "fill", "mine")
    assert "callers bring the vectors of embedding space" in refused.stderr
    nearest = gateway_connection.execute(
        "SELECT content FROM blend.vector_search(NULL, 3, query_embedding => '[0.5,1]',"
        """ options => '{"space": "mine"}')"""
    ).fetchall()
    assert nearest == [("arctic tern",)]
    found = gateway_connection.execute(
        "SELECT content, degraded FROM blend.hybrid_search('heron', options => %s)",
        [json.dumps({"space": "mine"})],
    ).fetchall()
    assert [content for content, _ in found] == ["a heron"]
    assert "callers bring the vectors of embedding space" in found[0][1][0]


def test_the_model_sees_title_and_text(ingest, gateway_connection, model_provider):
    ingest("a walrus")
    inputs = [text for body in model_provider.bodies for text in body["input"]]
    assert "title: a-walrus.txt | text: a walrus" in inputs


def test_second_run_asks_for_nothing(ingest, gateway_connection, model_provider):
    ingest("walrus")
    model_provider.reset()
    code, report, _ = ingest()
    assert (code, report["embedded"], model_provider.requests) == (0, 0, 0)


def test_without_a_gateway_text_is_findable_and_the_report_says_what_is_missing(ingest, connection):
    code, report, stderr = ingest("a walrus")
    assert code == 0
    assert report["degraded"][0]["part"] == "embeddings"
    assert report["degraded"][0]["reason"] == "no model gateway is set"
    assert "pgblend config set gateway_url" in report["degraded"][0]["hint"]
    assert "without embeddings: no model gateway is set" in stderr
    found = connection.execute("SELECT source_key FROM blend.lexical_search('walrus')")
    assert found.fetchall() == [("a-walrus.txt",)]


def test_no_embed_asks_nobody(ingest, gateway_connection, model_provider):
    code, report, _ = ingest("walrus", options=["--no-embed"])
    assert (code, report["degraded"], model_provider.requests) == (0, [], 0)


def test_what_an_earlier_run_left_waiting_is_finished(ingest, gateway_connection):
    ingest("first walrus")
    _, report, _ = ingest("second walrus", "third walrus", options=["--no-embed"])
    assert (report["embedded"], report["waiting"]) == (0, 2)
    code, report, stderr = ingest("fourth walrus")
    assert (code, report["documents"]["unchanged"], report["chunks"]) == (0, 3, 1)
    assert (report["embedded"], report["embedded_others"]) == (1, 2)  # this run's, and the rest
    assert "1 chunk · 1 embedded · 2 embedded that waited before" in stderr
    assert vectors(gateway_connection) == 4


@pytest.mark.extended
def test_other_spaces_do_not_count_twice(ingest, gateway_connection, model_provider):
    ingest("first walrus")
    gateway_connection.execute(
        "SELECT blend.create_embedding_space('second', %s, 384, active => false)",
        [model_provider.model],
    )
    report = ingest("second walrus")[1]
    assert (report["chunks"], report["embedded"], report["embedded_others"]) == (1, 1, 2)


@pytest.mark.extended
def test_a_space_whose_model_fails_stops_no_other(ingest, gateway_connection, model_provider):
    ingest("first walrus")
    for name, dimensions in (("a_wrong_size", 7), ("b_unknown_model", 6), ("z_second", 384)):
        model = "no/such-model" if name == "b_unknown_model" else model_provider.model
        gateway_connection.execute(
            "SELECT blend.create_embedding_space(%s, %s, %s, active => false, probe => false)",
            [name, model, dimensions],
        )
    code, report, stderr = ingest("second walrus")
    assert code == 1
    assert "embedding space 'a_wrong_size' holds 7" in stderr
    assert (report["embedded"], report["embedded_others"]) == (1, 2)
    assert ["no/such-model" in note["reason"] for note in report["degraded"]] == [True]


@pytest.mark.extended
@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(Behaviour(status=401, error_message="bad key"), id="401"),
        *(
            pytest.param(behaviour, id=name, marks=pytest.mark.slow)
            for name, behaviour in {
                "missing": Behaviour(missing_vectors=1),
                "500": Behaviour(status=500, error_message="it broke"),
                "garbage": Behaviour(garbage=True),
                "drop": Behaviour(drop=True),
                "nan": Behaviour(not_a_number=True),
            }.items()
        ),
    ],
)
def test_a_failing_model_costs_the_vectors_only(
    ingest, gateway_connection, model_provider, behaviour, monkeypatch
):
    monkeypatch.setattr("pgblend.cli.embed.embedding_client.time.sleep", lambda seconds: None)
    ingest("first walrus")
    model_provider.behaviour = behaviour
    code, report, stderr = ingest("second walrus", "third walrus")
    assert (code, report["documents"]["added"]) == (0, 2)
    assert (report["embedded"], report["waiting"]) == (0, 2)
    assert model_provider.model in report["degraded"][0]["reason"]
    is_key = behaviour.status in (401, 403)  # the provider's, not the gateway's token
    assert is_key == ("the provider's key" in report["degraded"][0]["hint"])
    assert "Traceback" not in stderr
    model_provider.reset()
    assert ingest()[1]["embedded_others"] == 2
    assert vectors(gateway_connection) == 3


@pytest.mark.extended
def test_vectors_of_other_dimensions_are_an_error_and_nothing_is_stored(
    ingest, gateway_connection, model_provider
):
    ingest("first walrus")
    model_provider.behaviour = Behaviour(dimensions=7)
    code, report, stderr = ingest("second walrus")
    assert code == 1
    assert "gave a vector of 7 dimensions, embedding space 'default' holds 384" in stderr
    assert report["documents"]["added"] == 1
    assert vectors(gateway_connection) == 1
    waiting = "SELECT waiting FROM blend.embedding_spaces"
    assert gateway_connection.execute(waiting).fetchall() == [(1,)]
    model_provider.reset()
    assert ingest()[1]["embedded_others"] == 1


def test_a_gateway_that_is_gone(ingest, connection):
    connection.execute("SELECT blend.set_setting('gateway_url', '\"http://127.0.0.1:9\"')")
    code, report, _ = ingest("walrus")
    assert code == 0
    assert "http://127.0.0.1:9 cannot be reached" in report["degraded"][0]["reason"]
    assert "pgblend gateway" in report["degraded"][0]["hint"]


@pytest.mark.slow
def test_gateway_on_a_socket_with_a_token(
    ingest, connection, model_provider, tmp_path_factory, monkeypatch
):
    socket = tmp_path_factory.mktemp("s") / "g"
    with GatewayProcess("--socket", str(socket), provider=model_provider, token="t0ken") as gateway:
        connection.execute(
            "SELECT blend.set_setting('gateway_url', to_jsonb(%s::text)), "
            "blend.set_setting('embedding_model', to_jsonb(%s::text))",
            [f"unix:{socket}", model_provider.model],
        )
        assert gateway.url == f"unix:{socket}"
        _, report, _ = ingest("walrus")
        assert "PGBLEND_GATEWAY_TOKEN" in report["degraded"][0]["hint"]
        monkeypatch.setenv("PGBLEND_GATEWAY_TOKEN", "t0ken")
        assert ingest()[1]["embedded_others"] == 1
    assert vectors(connection) == 1


def test_a_writer_stores_text_where_no_space_was_made(
    pgblend, parse_valid, gateway_connection, connect_as, tmp_path
):
    gateway_connection.execute("SELECT add_collection('c')")
    writer = connect_as("pgblend_writer")
    gateway_connection.execute("SELECT grant_collection('c', %s, 'write')", [writer.info.user])
    (tmp_path / "a.txt").write_text("a walrus")
    url = f"{writer.info.dsn} password=secret"
    result = pgblend("ingest", str(tmp_path), "--collection", "c", "--json", url=url)
    report = parse_valid(result, "ingest-report")
    assert result.exit_code == 0
    assert report["documents"]["added"] == 1
    assert "only an admin" in report["degraded"][0]["reason"]
