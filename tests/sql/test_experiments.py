"""Experiments: two profiles on live searches, compared by what people open."""

import json
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgblend.cli.models.search_log import read_search
from support.database import Database, add_documents, add_space, embed_waiting, vector_of
from support.search_log import log_search

TEXTS = [f"the {word} fox of {place}" for word in ("red", "grey") for place in "abcdefghij"]
QUERY = "red fox"
ALL = dict.fromkeys(("lexical", "total", "embed"), 60_000)
SEARCH = """
    SELECT rank, chunk_id, details, degraded FROM hybrid_search(
        %(query)s, %(limit)s, profile => %(profile)s, options => %(options)s,
        query_embedding => %(vector)s)
    ORDER BY rank
"""


@pytest.fixture
def library(db: Database) -> Database:
    """A library whose profiles words and vectors put its passages in different orders."""
    db.rows("SELECT add_collection('c', 'english')")
    add_documents(db, "c", [(str(n), "", text) for n, text in enumerate(TEXTS)])
    add_space(db)
    embed_waiting(db)
    for name, weights in {"words": (1, 0), "vectors": (0, 1)}.items():
        chosen = {"mode": "fast", "fuzzy": "off", "timeouts_ms": ALL}
        chosen |= {"weights": dict(zip(("lexical", "vector"), weights, strict=True))}
        db.rows("SELECT set_profile(%s, settings => %s)", name, Jsonb(chosen))
    return db


@pytest.fixture
def receiver(library: Database) -> Iterator[socket.socket]:
    """Where searches are reported."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        opened.settimeout(5)
        address = f"127.0.0.1:{opened.getsockname()[1]}"
        library.rows("SELECT set_setting('log_address', to_jsonb(%s::text))", address)
        yield opened


@pytest.fixture
def running(library: Database, receiver: socket.socket) -> Database:
    """The library with an experiment of words and vectors."""
    library.rows("SELECT start_experiment('words', 'vectors')")
    return library


def found(
    db: Database, limit: int = 10, query: str = QUERY, profile: str = "words", **options: Any
) -> list[tuple[Any, ...]]:
    values = {"query": query, "limit": limit, "profile": profile, "vector": vector_of(query)}
    cursor = db.connection.execute(SEARCH, values | {"options": Jsonb(options)})
    return cursor.fetchall()


def ids(rows: list[tuple[Any, ...]]) -> list[int]:
    return [row[1] for row in rows]


def taken(db: Database, receiver: socket.socket) -> str:
    """Put the report of a search into the log, as the gateway does; return the search's id."""
    row = read_search(receiver.recv(65536), None)
    return log_search(db, **row)


def click(db: Database, search_id: str, chunk_id: int) -> None:
    db.rows("SELECT click(%s, %s)", search_id, chunk_id)


def test_rows_say_which_profile_gave_them(running: Database) -> None:
    orders = {name: ids(found(running, 20, profile=name)) for name in ("vectors",)}
    rows = found(running, 20)
    assert [row[0] for row in rows] == list(range(1, 21))
    profiles = [tuple(row[2]["profiles"]) for row in rows]
    assert {("words",), ("vectors",)} <= {*profiles} <= {
        ("words",), ("vectors",), ("words", "vectors"),
    }  # fmt: skip
    of_vectors = [one for one, of in zip(ids(rows), profiles, strict=True) if of == ("vectors",)]
    assert of_vectors == sorted(of_vectors, key=orders["vectors"].index)
    counted = Counter(profiles[:10])
    assert abs(counted[("words",)] - counted[("vectors",)]) <= 1
    number = running.value("SELECT experiment_id FROM experiments")
    assert {row[2]["experiment"] for row in rows} == {number}
    assert all("experiment" not in row[2] for row in found(running, profile="vectors"))
    assert all("experiment" not in row[2] for row in found(running, profile="balanced"))


def test_without_an_experiment_nothing_is_said_of_one(library: Database) -> None:
    assert all("experiment" not in row[2] for row in found(library))
    assert all("experiment" not in row[2]["cursor"] for row in found(library))


def test_a_search_keeps_its_rows(running: Database) -> None:
    whole = found(running, 20)
    assert len({*ids(whole)}) == 20
    assert ids(found(running, 20)) == ids(whole)
    for start in range(0, 20, 3):
        page = found(running, 3, offset=start)
        assert ids(page) == ids(whole)[start : start + 3]
        assert [row[0] for row in page] == [row[0] for row in whole[start : start + 3]]


@pytest.mark.parametrize("is_stopped", [False, True])
def test_cursors_hold(running: Database, is_stopped: bool) -> None:
    """An experiment that ends, and profiles that change then, leave pages that were begun alone."""
    whole = found(running, 20)
    if is_stopped:
        running.rows("SELECT stop_experiment('words')")
        running.rows("SELECT drop_profile('vectors')")
        assert ids(found(running, 20)) != ids(whole)
    for place in (2, 7, 18):
        page = found(running, 5, after=whole[place][2]["cursor"])
        assert ids(page) == ids(whole)[place + 1 : place + 6]


def test_depths_of_both_hold(library: Database, receiver: socket.socket) -> None:
    """A page by a cursor has each profile's own depth."""
    library.rows(
        "SELECT set_profile('vectors', settings => p.settings || '{\"candidate_depth\": 6}')"
        " FROM profiles AS p WHERE p.name = 'vectors'"
    )
    library.rows("SELECT start_experiment('words', 'vectors')")
    for options in ({}, {"candidate_depth": 8}):
        whole = found(library, 20, **options)
        rest = found(library, 20, after=whole[3][2]["cursor"])
        assert ids(rest) == ids(whole)[4:]


def test_a_cursor_from_before_it_began_leads_through_one_list(
    library: Database, receiver: socket.socket
) -> None:
    whole = found(library, 20)
    library.rows("SELECT start_experiment('words', 'vectors')")
    assert ids(found(library, 20, after=whole[4][2]["cursor"])) == ids(whole)[5:]


def test_a_cursor_of_a_row_that_is_gone(running: Database) -> None:
    cursor = found(running, 5)[2][2]["cursor"] | {"document_id": 1_000_000}
    with pytest.raises(psycopg.Error, match="no longer found"):
        found(running, 5, after=cursor)


def test_what_is_alike_costs_nothing_and_is_of_both(
    library: Database, receiver: socket.socket
) -> None:
    library.rows("SELECT set_profile('same', settings => p.settings) FROM profiles AS p"
                 " WHERE p.name = 'words'")  # fmt: skip
    before = found(library, 20)
    library.rows("SELECT start_experiment('words', 'same')")
    after = found(library, 20)
    assert ids(after) == ids(before)
    assert {tuple(row[2]["profiles"]) for row in after} == {("words", "same")}


def test_copies_are_shown_once(library: Database, receiver: socket.socket) -> None:
    add_documents(library, "c", [("copy", "", TEXTS[0])])
    embed_waiting(library)
    library.rows("SELECT start_experiment('words', 'vectors')")
    rows = found(library, 30)
    texts = dict(library.rows("SELECT id, content FROM pgblend_data.chunk"))
    assert len({texts[one] for one in ids(rows)}) == len(rows) == 20


@pytest.mark.parametrize("call", ["lexical_search('fox')", "fuzzy_search('fox')"])
def test_searches_by_one_arm_take_no_part(running: Database, call: str) -> None:
    for (details,) in running.rows(f"SELECT details FROM {call}"):
        assert "experiment" not in details


def test_evaluations_take_no_part(running: Database) -> None:
    running.rows("SET LOCAL pgblend.purpose = 'evaluation'")
    assert all("experiment" not in row[2] for row in found(running))


def test_facets_count_one_pool(running: Database) -> None:
    call = "SELECT max(pool_size) FROM search_facets(%s, ARRAY['$title'], profile => %s)"
    assert running.value(call, "red fox a", "words") == 20


def test_it_is_explained(running: Database) -> None:
    explained = running.value(
        "SELECT search_explain(%s, 20, profile => 'words', query_embedding => %s)",
        QUERY,
        vector_of(QUERY),
    )
    told = explained["experiment"]
    assert (told["profile"], told["rival"]) == ("words", "vectors")
    assert "vector" in {stage["name"] for stage in told["stages"] if "skipped" not in stage}
    assert "vector" not in {one["name"] for one in explained["stages"] if "skipped" not in one}
    for row in explained["results"]:
        if row["details"]["profiles"] == ["vectors"]:
            assert {*row["arms"]} == {"vector"}
        assert sum(row["parts"].values()) == pytest.approx(row["score"])
    assert len(explained["results"]) == 20


def test_a_reranker_reads_the_passages_of_both(running: Database) -> None:
    rows = running.rows(
        "SELECT chunk_id FROM rerank_candidates(%s, profile => 'words', query_embedding => %s,"
        " options => '{\"rerank_depth\": 3}')",
        QUERY,
        vector_of(QUERY),
    )
    assert {*ids(found(running, 4))} <= {chunk_id for (chunk_id,) in rows}
    scores = {str(chunk_id): 1 - place / 10 for place, (chunk_id,) in enumerate(rows)}
    reranked = found(running, 20, rerank_scores=scores, rerank_depth=3)
    assert len({*ids(reranked)}) == 20
    assert {row[2]["relevance_basis"] for row in reranked} == {"rerank"}


def test_the_log_has_whose_rows_they_are(running: Database, receiver: socket.socket) -> None:
    rows = found(running)
    report = json.loads(receiver.recv(65536))
    assert [(one["chunk_id"], one["profiles"]) for one in report["results"]] == [
        (row[1], row[2]["profiles"]) for row in rows
    ]


def test_what_one_side_goes_without_is_said_once(running: Database) -> None:
    running.rows("SELECT set_setting('gateway_url', '\"unix:/nowhere\"')")
    rows = running.rows("SELECT degraded FROM hybrid_search(%s, profile => 'words')", QUERY)
    assert len(rows) == 10
    assert [note.partition(":")[0] for note in rows[0][0]] == ["vector"]


# Beginning and ending.


@pytest.mark.parametrize(
    ("profile", "rival", "said"),
    [
        ("words", "nobody", "there is no profile nobody"),
        (None, "words", "there is no profile NULL"),
        ("words", "words", "are both"),
        ("words", "elsewhere", "spaces"),
    ],
)
def test_what_cannot_begin(
    library: Database, receiver: socket.socket, profile: str, rival: str, said: str
) -> None:
    library.rows("SELECT set_profile('elsewhere', settings => '{\"space\": \"other\"}')")
    error = library.error("SELECT start_experiment(%s, %s)", profile, rival)
    assert (error.sqlstate, said in str(error.message_primary)) == ("22023", True)
    assert error.message_hint


def test_it_needs_a_log(library: Database) -> None:
    error = library.error("SELECT start_experiment('words', 'vectors')")
    assert (error.sqlstate, "not logged" in str(error.message_primary)) == ("55000", True)


def test_log_without_queries(library: Database, receiver: socket.socket) -> None:
    library.rows("SELECT set_setting('log_queries', '\"off\"')")
    assert library.error("SELECT start_experiment('words', 'vectors')").sqlstate == "55000"


def test_profiles_stay_as_they_are_meanwhile(running: Database) -> None:
    for call in ("set_profile('words')", "set_profile('vectors')", "drop_profile('vectors')"):
        error = running.error(f"SELECT {call}")
        assert (error.sqlstate, "is in an experiment" in str(error.message_primary)) == (
            "55006",
            True,
        )
    for profile, rival in [("words", "balanced"), ("balanced", "vectors"), ("vectors", "code")]:
        assert running.error("SELECT start_experiment(%s, %s)", profile, rival).sqlstate == "55006"
    running.rows("SELECT stop_experiment('words')")
    running.rows("SELECT set_profile('words')")
    assert running.error("SELECT stop_experiment('words')").sqlstate == "22023"


def test_experiments_are_kept(running: Database) -> None:
    outcome = running.value("SELECT stop_experiment('words')")
    assert outcome["verdict"] is None
    running.rows("SELECT start_experiment('balanced', 'vectors')")
    kept = running.rows(
        "SELECT profile, rival, settings -> 'weights', stopped_at IS NULL, stopped_by::text,"
        " outcome FROM experiments ORDER BY experiment_id"
    )
    who = running.value("SELECT session_user::text")
    assert kept[0] == ("words", "vectors", {"lexical": 1, "vector": 0}, False, who, outcome)
    assert (*kept[1][:2], *kept[1][3:]) == ("balanced", "vectors", True, None, None)


def test_who_may(running: Database) -> None:
    chunk_id = ids(found(running))[0]
    running.rows("SELECT grant_collection('c', 'pgblend_reader')")
    calls = ("experiment_status()", "stop_experiment('words')",
             "start_experiment('words', 'vectors')")  # fmt: skip
    running.rows("SET LOCAL ROLE pgblend_reader")
    for call in calls:
        assert running.error(f"SELECT {call}").sqlstate == "42501"
    assert running.column("SELECT profile FROM experiments") == ["words"]
    assert {row[2].get("experiment") for row in found(running)} != {None}
    click(running, "00000000-0000-0000-0000-000000000001", chunk_id)
    for statement in (
        "SELECT FROM pgblend_data.click",
        "INSERT INTO pgblend_data.click VALUES (gen_random_uuid(), 1, 'x')",
        "DELETE FROM pgblend_data.experiment",
    ):
        assert running.error(statement).sqlstate == "42501"
    running.rows("SET LOCAL ROLE pgblend_admin")
    assert running.column("SELECT role_name FROM pgblend_data.click") == ["pgblend_reader"]
    for call in calls:
        running.rows(f"SELECT {call}")


# Clicks and votes.


@pytest.mark.parametrize("click", ["NULL, 1", "gen_random_uuid(), NULL"])
def test_clicks_that_cannot_be(db: Database, click: str) -> None:
    error = db.error(f"SELECT click({click})")
    assert (error.sqlstate, "is NULL" in str(error.message_primary)) == ("22023", True)
    assert "log_address" in str(error.message_hint)


def status(db: Database) -> dict[str, Any]:
    return dict(db.value("SELECT to_jsonb(s) FROM experiment_status('words') AS s"))


def test_a_vote_is_of_a_role_and_a_query(running: Database, receiver: socket.socket) -> None:
    def search(query: str, whose: list[str], clicks: int = 1) -> None:
        rows = found(running, query=query)
        search_id = taken(running, receiver)
        chosen = [row[1] for row in rows if row[2]["profiles"] == whose]
        for chunk_id in chosen[:clicks]:
            click(running, search_id, chunk_id)
            click(running, search_id, chunk_id)  # counts once

    search("red fox", ["vectors"])
    search("red fox", ["words"], 2)  # the same again: what was opened first counts
    search("grey fox", ["words"])
    search("fox of a", ["vectors"], 2)
    search("fox of b", ["nobody"])
    told = status(running)
    assert (told["searches"], told["clicked"]) == (5, 4)
    assert (told["profile_votes"], told["rival_votes"]) == (1, 2)
    assert told["verdict"] is None
    running.rows("UPDATE pgblend_data.click SET role_name = 'somebody'")
    assert status(running)["clicked"] == 0


def test_a_click_is_on_a_row_that_its_search_showed(db: Database) -> None:
    role = db.value("SELECT session_user::text")
    rows = [{"chunk_id": number} for number in range(1, 11)]
    own = {"role_name": role, "results": rows, "result_count": 10}
    search_id = log_search(db, **own)
    click(db, search_id, 10)
    click(db, search_id, 10)
    error = db.error(f"SELECT click('{search_id}', 11)")
    assert (error.sqlstate, error.message_primary) == (
        "22023", f"passage 11 is no row of search {search_id}",
    )  # fmt: skip
    of_another = log_search(db, **own | {"role_name": "somebody"})
    error = db.error(f"SELECT click('{of_another}', 1)")
    assert (error.sqlstate, f"not one that {role} made" in str(error.message_primary)) == (
        "22023", True,
    )  # fmt: skip
    click(db, log_search(db, **own | {"result_count": 12}), 12)  # the log has ten rows of it
    assert db.rows("SELECT search_id::text, chunk_id FROM pgblend_data.click") == [(search_id, 10)]


def test_clicks_that_the_log_knows_nothing_of_are_few_and_go(db: Database) -> None:
    """A reader who makes up searches keeps a thousand rows at most, for an hour at most."""
    role = db.value("SELECT session_user::text")
    shown, wrong = (
        log_search(db, role_name=role, results=[{"chunk_id": number}]) for number in (1, 2)
    )
    db.rows(
        "INSERT INTO pgblend_data.click (search_id, chunk_id, role_name, is_shown)"
        " SELECT * FROM (VALUES (%s::uuid, 1, session_user, false),"
        " (%s::uuid, 1, session_user, false)) AS clicked_early",
        shown,
        wrong,
    )
    db.rows("SELECT click(gen_random_uuid(), n) FROM generate_series(1, 1000) AS n")
    assert db.rows(
        "SELECT search_id::text FROM pgblend_data.click WHERE is_shown OR search_id = %s", wrong
    ) == [(shown,)]
    waiting = "SELECT count(*) FROM pgblend_data.click WHERE NOT is_shown"
    error = db.error("SELECT click(gen_random_uuid(), 1)")
    assert (error.sqlstate, f"1000 clicks of {role} wait" in str(error.message_primary)) == (
        "53400", True,
    )  # fmt: skip
    assert db.value(waiting) == 1000
    db.rows("UPDATE pgblend_data.click SET clicked_at = now() - interval '2 hours'")
    click(db, "00000000-0000-0000-0000-000000000001", 1)
    assert db.value(waiting) == 1
    assert db.value("SELECT count(*) FROM pgblend_data.click") == 2


def test_documents_with_readers_of_their_own_give_no_vote(
    running: Database, receiver: socket.socket
) -> None:
    """What not all readers may see does not decide for all."""
    keys = "SELECT source_key FROM documents WHERE document_id = %s"
    before = {row[1] for row in found(running) if row[2]["profiles"] == ["vectors"]}
    receiver.recv(65536)
    passages = "SELECT document_id FROM pgblend_data.chunk WHERE id = ANY(%s)"
    hidden = [running.value(keys, one) for one in running.column(passages, [*before])]
    for key in hidden:
        running.rows("SELECT set_document_readers('c', %s, '{hr}')", key)
    rows = found(running)
    search_id = taken(running, receiver)
    passages = "SELECT c.id FROM pgblend_data.chunk AS c INNER JOIN documents USING (document_id)"
    own = running.column(f"{passages} WHERE source_key = ANY(%s)", hidden)
    opened = [row[1] for row in rows if row[1] in own and len(row[2]["profiles"]) == 1]
    click(running, search_id, opened[0])
    told = status(running)
    assert [told[name] for name in ("clicked", "profile_votes", "rival_votes")] == [1, 0, 0]
    rows = found(running, query="fox of a")
    search_id = taken(running, receiver)
    click(
        running,
        search_id,
        next(row[1] for row in rows if row[1] not in own and len(row[2]["profiles"]) == 1),
    )
    told = status(running)
    assert told["profile_votes"] + told["rival_votes"] == 1


def voted(db: Database, number: int, votes: dict[str, int]) -> None:
    """Log searches of an experiment in which the rows of one profile were opened."""
    (chunk_id,) = db.row("SELECT min(id) FROM pgblend_data.chunk")
    role = db.value("SELECT session_user::text")
    later = db.value("SELECT now() + interval '1 minute'").isoformat()
    for profile, count in votes.items():
        row = {"chunk_id": chunk_id, "experiment": number, "profiles": [profile]}
        for place in range(count):
            query = f"{profile} {place}"
            logged = {"role_name": role, "query": query, "searched_at": later}
            click(db, log_search(db, results=[row], **logged), chunk_id)


@pytest.mark.parametrize(
    ("words", "vectors", "verdict"),
    [
        (0, 0, None),
        (0, 29, None),  # too few, however clear
        (0, 30, "vectors"),
        (30, 1, "words"),
        (20, 20, None),
        (40, 62, None),  # which a sign test calls significant
        (40, 80, "vectors"),
    ],
)
def test_a_verdict_needs_votes_and_evidence(
    running: Database, words: int, vectors: int, verdict: str | None
) -> None:
    number = running.value("SELECT experiment_id FROM experiments")
    voted(running, number, {"words": words, "vectors": vectors})
    told = status(running)
    assert (told["profile_votes"], told["rival_votes"]) == (words, vectors)
    assert told["verdict"] == verdict
    outcome = running.value("SELECT stop_experiment('words')")
    assert outcome["verdict"] == verdict
    running.rows("DELETE FROM pgblend_data.search_log")
    assert status(running)["rival_votes"] == vectors  # as it was when it was stopped


def test_evidence_is_that_of_votes(db: Database) -> None:
    """Beta(10, 10) against a fair coin, by its own formula."""
    from math import exp, lgamma, log

    def beta(a: float, b: float) -> float:
        return lgamma(a) + lgamma(b) - lgamma(a + b)

    for one, other in [(0, 0), (1, 0), (7, 19), (300, 200)]:
        expected = exp(beta(10 + one, 10 + other) - beta(10, 10) + (one + other) * log(2))
        assert db.value("SELECT pgblend._vote_evidence(%s, %s)", one, other) == pytest.approx(
            expected
        )
    assert db.value("SELECT pgblend._vote_evidence(NULL, 1)") is None
    assert db.value("SELECT pgblend._vote_evidence(100000, 0)") > 1e300
