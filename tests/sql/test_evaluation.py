"""Judged sets, judgements and runs: what is stored, what is refused, and who sees it."""

from collections.abc import Callable
from types import SimpleNamespace

import psycopg
import pytest

from support.database import Database, add_documents, stage

DOCUMENTS = [
    ("a", "Wine", "Red wine and white wine from the south."),
    ("b", "Sea", "Ships sail the sea when the wind is fair."),
]


def library(db: Database, collection: str = "library") -> None:
    db.rows("SELECT add_collection(%s)", collection)
    add_documents(db, collection, DOCUMENTS)


def test_judgements_are_recorded_changed_and_taken_back(db: Database) -> None:
    library(db)
    db.rows("SELECT add_judged_set('mine', 'library', 'asked by people')")
    one = db.value("SELECT record_judgement('mine', 'red wine', 'a', 2)")
    assert db.value("SELECT record_judgement('mine', 'red wine', 'b', 0)") == one
    assert db.value("SELECT record_judgement('mine', 'red wine', 'a', 3)") == one
    assert db.value("SELECT record_judgement('mine', 'ships', 'b', 1)") != one
    me = db.value("SELECT current_user::text")
    query = "SELECT query, source_key, grade, judged_by FROM judgements ORDER BY 1, 2"
    assert db.rows(query) == [
        ("red wine", "a", 3, me),
        ("red wine", "b", 0, me),
        ("ships", "b", 1, me),
    ]
    db.rows("SELECT record_judgement('mine', 'ships', 'b', NULL)")
    assert len(db.rows(query)) == 2
    assert db.rows("SELECT name, collection, queries, judged_queries FROM judged_sets") == [
        ("mine", "library", 2, 1)
    ]


@pytest.mark.parametrize(
    ("call", "state", "message"),
    [
        ("record_judgement('none', 'q', 'a', 1)", "42704", 'no judged set "none"'),
        ("record_judgement(NULL, 'q', 'a', 1)", "42704", "no judged set NULL"),
        ("record_judgement('mine', ' ', 'a', 1)", "22023", "query is ' '"),
        ("record_judgement('mine', 'q', 'z', 1)", "22023", "no document 'z'"),
        ("record_judgement('mine', 'q', NULL, 1)", "22023", "no document NULL"),
        ("record_judgement('mine', 'q', 'a', 1001)", "22023", "grade is 1001"),
        ("add_judged_set('mine', 'library')", "42710", 'a judged set "mine" already'),
        ("add_judged_set(' x')", "22023", "name of a judged set is ' x'"),
        ("add_judged_set('x', 'nowhere')", "42704", 'no collection "nowhere"'),
        ("pgblend._start_run('mine', 'words', NULL, '{}', 10)", "22023", "arm is 'words'"),
        ("pgblend._start_run('mine', 'hybrid', 'nope', '{}', 10)", "22023", 'no profile "nope"'),
        ("pgblend._start_run('mine', 'hybrid', NULL, '{\"x\": 1}', 10)", "22023", 'setting "x"'),
        (
            "pgblend._start_run('mine', 'hybrid', NULL, '{}', 10001)",
            "22023",
            "result_limit is 10001",
        ),
        ("evaluate_queries(0)", "42704", "no run 0"),
        ("evaluate_queries(NULL)", "42704", "no run NULL"),
        ("pgblend._finish_run(0, '{}', '{}', '{}')", "22023", "run NULL has"),
    ],
)
def test_what_is_wrong_is_an_error(db: Database, call: str, state: str, message: str) -> None:
    library(db)
    db.rows("SELECT add_judged_set('mine', 'library')")
    diagnostic = db.error(f"SELECT {call}")
    assert diagnostic.sqlstate == state
    assert message.replace("NULL has", "0 has") in (diagnostic.message_primary or "")
    assert diagnostic.message_hint


def test_a_run_takes_only_queries_with_a_relevant_document(db: Database) -> None:
    library(db)
    db.rows("SELECT add_judged_set('mine', 'library')")
    db.rows("SELECT record_judgement('mine', 'sea \"wind', 'b', 1)")
    db.rows("SELECT record_judgement('mine', 'red', 'b', 0)")
    run = db.value("SELECT pgblend._start_run('mine', 'lexical', NULL, '{}', 10)")
    assert db.value("SELECT evaluate_queries(%s)", run) == 1
    assert db.value("SELECT evaluate_queries(%s)", run) == 0
    assert db.rows(
        "SELECT query, source_keys, passages, degraded, metrics FROM evaluation_queries"
    ) == [('sea "wind', ["b"], 1, [], {"documents@10": 1, "duplicates@10": 0})]


def test_words_of_a_phrase_are_the_profile_s_own_way(db: Database) -> None:
    library(db)
    db.rows("SELECT add_judged_set('mine', 'library')")
    db.rows("SELECT record_judgement('mine', '\"fair wind\"', 'b', 1)")
    run = db.value("SELECT pgblend._start_run('mine', 'hybrid', NULL, '{}', 10)")
    db.rows("SELECT evaluate_queries(%s)", run)
    notes = db.value("SELECT degraded FROM evaluation_queries")
    assert db.value("SELECT source_keys FROM evaluation_queries") == ["b"]
    assert [note.partition(":")[0] for note in notes] == ["vector"]  # no space here


def test_words_that_are_nowhere_find_nothing_by_words(db: Database) -> None:
    db.rows("SELECT create_embedding_space('flat', 'openai/none', 2, probe => false)")
    library(db)
    chunks = db.rows("SELECT chunk_id, input FROM pgblend._next_embeddings('flat', NULL)")
    stage(db, [(chunk, (1.0, 0.0)) for chunk, _ in chunks])
    db.rows("SELECT pgblend._store_embeddings('flat')")
    db.rows("SELECT add_judged_set('mine', 'library')")
    db.rows("SELECT record_judgement('mine', 'zeppelin', 'b', 1)")
    warnings: list[str | None] = []
    db.connection.add_notice_handler(lambda notice: warnings.append(notice.message_primary))
    search = (
        "SELECT f.* FROM pgblend_data.evaluation_run AS r"
        " CROSS JOIN LATERAL pgblend._judged_search(r, 'zeppelin', NULL) AS f WHERE r.id = %s"
    )
    run = db.value("SELECT pgblend._start_run('mine', 'lexical', NULL, '{}', 10)")
    assert (db.rows(search, run), warnings) == ([], [])
    lenient = db.value(
        "SELECT pgblend._start_run('mine', 'lexical', NULL, '{\"strict\": false}', 10)"
    )
    db.rows(search, lenient)
    assert warnings  # the vectors were asked, for want of words


def test_passages_become_documents_and_copies_are_counted(db: Database) -> None:
    db.rows("SELECT add_collection('library')")
    chunks = '[{"content": "wine one"}, {"content": "wine"}, {"content": "wine"}]'
    db.rows("SELECT ingest_document('library', 'a', '', 'A', chunks => %s::jsonb)", chunks)
    db.rows("SELECT ingest_document('library', 'b', 'other wine', 'B')")
    db.rows("SELECT add_judged_set('mine', 'library')")
    db.rows("SELECT record_judgement('mine', 'wine', 'b', 1)")
    run = db.value("SELECT pgblend._start_run('mine', 'lexical', NULL, '{\"dedup\": \"off\"}', 10)")
    db.rows("SELECT evaluate_queries(%s)", run)
    keys, scores, passages, metrics = db.row(
        "SELECT source_keys, scores, passages, metrics FROM evaluation_queries"
    )
    assert (sorted(keys), len(scores), passages) == (["a", "b"], 2, 4)
    assert scores == sorted(scores, reverse=True)
    assert metrics == {"documents@10": 2, "duplicates@10": 0.25}


def test_new_data_make_a_new_run(db: Database) -> None:
    library(db)
    db.rows("SELECT add_judged_set('mine', 'library')")
    db.rows("SELECT record_judgement('mine', 'sea', 'b', 1)")
    start = "SELECT pgblend._start_run('mine', 'hybrid', NULL, '{}', 10)"
    run = db.value(start)
    assert db.value(start) == run
    add_documents(db, "library", [("c", "C", "more sea")])
    assert db.value(start) > run


def finished_run(db: Database, metrics: str, options: str = "{}", judged_set: str = "mine") -> int:
    run: int = db.value(
        "SELECT pgblend._start_run(%s, 'hybrid', NULL, %s, 10)", judged_set, options
    )
    db.rows("SELECT evaluate_queries(%s)", run)
    query = db.value("SELECT query_id FROM pgblend_data.evaluation_result WHERE run_id = %s", run)
    finish = "SELECT pgblend._finish_run(%s, ARRAY[%s::bigint], ARRAY[%s::jsonb], %s)"
    db.rows(finish, run, query, metrics, metrics)
    return run


def test_quality_over_time_beside_the_run_before_of_the_same_kind(db: Database) -> None:
    library(db)
    db.rows("SELECT add_judged_set('mine', 'library')")
    db.rows("SELECT record_judgement('mine', 'sea', 'b', 1)")
    first = finished_run(db, '{"nDCG@10": 0.5, "AP": 0.25}')
    other = finished_run(db, '{"nDCG@10": 0.75}', '{"rrf_k": 5}')
    db.rows("SELECT set_setting('candidate_depth', '50')")
    second = finished_run(db, '{"nDCG@10": 0.25}')
    add_documents(db, "library", [("c", "C", "more sea")])
    third = finished_run(db, '{"nDCG@10": 0.25, "AP": 0.5}')
    db.value("SELECT pgblend._start_run('mine', 'hybrid', NULL, '{}', 10)")  # not done: not there
    assert db.rows(
        "SELECT run_id, metric, value, previous_run_id, previous_value, change, same_settings,"
        " same_versions, judged_set, arm, profile FROM quality_trend ORDER BY metric DESC, run_id"
    ) == [
        (*row, "mine", "hybrid", "balanced")
        for row in (
            (first, "nDCG@10", 0.5, None, None, None, None, None),
            (other, "nDCG@10", 0.75, None, None, None, None, None),
            (second, "nDCG@10", 0.25, first, 0.5, -0.25, False, True),
            (third, "nDCG@10", 0.25, second, 0.25, 0, True, False),
            (first, "AP", 0.25, None, None, None, None, None),
            (third, "AP", 0.5, first, 0.25, 0.25, False, False),
        )
    ]


def test_a_set_goes_with_its_collection_and_not_with_a_document(db: Database) -> None:
    library(db)
    db.rows("SELECT add_judged_set('mine', 'library')")
    db.rows("SELECT record_judgement('mine', 'sea', 'b', 1)")
    db.rows("SELECT delete_document('library', 'b')")
    assert db.value("SELECT count(*) FROM judgements") == 1
    db.rows("SELECT remove_collection('library')")
    assert db.value("SELECT count(*) FROM judged_sets") == 0
    assert db.value("SELECT remove_judged_set('mine')") is False


@pytest.fixture
def people(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> SimpleNamespace:
    """A judged set on `open`, one on `secret`, one on all; a reader and a writer of `open`."""
    for name in ("open", "secret"):
        library(committed, name)
        committed.rows("SELECT add_judged_set(%s, %s)", name, name)
        committed.rows("SELECT record_judgement(%s, 'sea', 'b', 1)", name)
    committed.rows("SELECT add_judged_set('all')")
    committed.rows("SELECT record_judgement('all', 'sea', 'b', 1)")
    reader = Database(connect_as("pgblend_reader"))
    writer = Database(connect_as("pgblend_writer"))
    for database, privilege in ((reader, "read"), (writer, "write")):
        committed.rows(
            "SELECT grant_collection('open', %s, %s)", database.connection.info.user, privilege
        )
    return SimpleNamespace(admin=committed, reader=reader, writer=writer)


def test_who_may_see_and_write_a_set(people: SimpleNamespace) -> None:
    names = "SELECT name FROM judged_sets ORDER BY name"
    assert people.admin.column(names) == ["all", "open", "secret"]
    assert people.reader.column(names) == people.writer.column(names) == ["open"]
    assert people.writer.error(
        "SELECT pgblend._start_run('secret', 'lexical', NULL, '{}', 10)"
    ).sqlstate
    run = people.writer.value("SELECT pgblend._start_run('open', 'lexical', NULL, '{}', 10)")
    assert people.writer.value("SELECT evaluate_queries(%s)", run) == 1
    assert people.reader.column("SELECT source_keys FROM evaluation_queries") == [["b"]]
    secret = people.admin.value("SELECT pgblend._start_run('secret', 'lexical', NULL, '{}', 10)")
    assert people.writer.error("SELECT evaluate_queries(%s)", secret).sqlstate == "42704"
    assert people.reader.column("SELECT run_id FROM evaluation_runs") == [run]
    for judged_set in ("open", "secret"):
        finished_run(people.admin, '{"AP": 1}', judged_set=judged_set)
    trend = "SELECT judged_set FROM quality_trend ORDER BY 1"
    assert people.admin.column(trend) == ["open", "secret"]
    assert people.reader.column(trend) == ["open"]
    for call in ("record_judgement('open', 'sea', 'a', 1)", "add_judged_set('x')"):
        assert people.reader.error(f"SELECT {call}").sqlstate == "42501"
    assert people.writer.error("SELECT add_judged_set('x')").sqlstate == "42501"
    everything = people.admin.value("SELECT pgblend._start_run('all', 'lexical', NULL, '{}', 10)")
    assert people.admin.value("SELECT evaluate_queries(%s)", everything) == 1


def test_nobody_slips_a_query_into_anothers_set(people: SimpleNamespace) -> None:
    secret_set = people.admin.value("SELECT id FROM pgblend_data.judged_set WHERE name = 'secret'")
    open_id = people.admin.value("SELECT id FROM pgblend_data.collection WHERE name = 'open'")
    diagnostic = people.writer.error(
        "INSERT INTO pgblend_data.judged_query (set_id, collection_id, key, query)"
        " VALUES (%s, %s, 'k', 'q')",
        secret_set,
        open_id,
    )
    assert diagnostic.sqlstate == "42501"  # as for a set that is not there


@pytest.mark.parametrize(
    ("query", "plain"),
    [
        ('the "old man" and -the sea', "the old man and the sea"),
        ("well-known or unknown", "well-known unknown"),
        ("--x OR", "x"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_plain_query_has_no_operators(db: Database, query: str | None, plain: str) -> None:
    assert db.value("SELECT pgblend._plain_query(%s)", query) == plain
