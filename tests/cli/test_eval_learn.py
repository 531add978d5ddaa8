"""Clicks become weak judgements: places are allowed for, and no verdict is one."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from pgblend.cli.measure.learn import Propensity, Shown, propensities, verdicts
from support.database import Database, add_documents, stage
from support.search_log import log_search

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]
LOOKED = (1, 0.7, 0.5, 0.4, 0.3, 0.25, 0.2, 0.17, 0.15, 0.12)  # what the log is to tell
ASSUMED = [Propensity(rank, 1 / rank, 0) for rank in range(1, 11)]


def simulated(searches: int, seed: int, mixed: bool) -> list[Shown]:
    """Show ten documents for each of twenty queries; two of each are good: opened at .8, not .1.

    Where lists are `mixed`, documents change their places from one search to the next.
    """
    random = np.random.default_rng(seed)
    counts: dict[tuple[str, str, int], list[int]] = {}
    for query in range(20):
        order = random.permutation(10)
        for _ in range(searches):
            shown = random.permutation(10) if mixed else order
            for rank, document in enumerate(shown, 1):
                chance = LOOKED[rank - 1] * (0.8 if document < 2 else 0.1)
                count = counts.setdefault((f"q{query}", f"d{document}", rank), [0, 0])
                count[0] += 1
                count[1] += random.random() < chance
    return [Shown(*pair, *count) for pair, count in counts.items()]


def test_propensities_are_found_where_documents_change_places() -> None:
    found = propensities(simulated(200, 1, mixed=True))
    assert [one.rank for one in found] == list(range(1, 11))
    assert [one.propensity for one in found] == pytest.approx(LOOKED, abs=0.05)
    assert {one.rows for one in found} == {20 * 200}


def test_propensities_are_assumed_where_none_does() -> None:
    for rows in (simulated(200, 1, mixed=False), []):
        found = propensities(rows)
        assert [one.propensity for one in found] == pytest.approx([1 / one.rank for one in found])
        assert {one.rows for one in found} == {0}


def test_a_few_rows_hardly_move_what_is_assumed() -> None:
    rows = [Shown("q", "d", 1, 5, 1), Shown("q", "d", 2, 5, 5)]
    assert propensities(rows)[1].propensity == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("seed", range(3))
def test_verdicts_are_right_where_there_are_any(seed: int) -> None:
    """Good documents stand anywhere; those that stand low are not taken for bad ones."""
    rows = simulated(100, seed, mixed=True)
    said = verdicts(rows, propensities(rows))
    wrong = [one for one in said if one.grade not in (None, int(one.source_key < "d2"))]
    assert len(said) == 200
    assert len(wrong) <= 0.05 * len(said)
    assert sum(one.grade == 1 for one in said) >= 36  # of 40
    assert sum(one.grade == 0 for one in said) >= 120  # of 160


def test_a_low_place_is_allowed_for() -> None:
    """The same clicks say more of a row that is seldom looked at."""
    rows = [Shown("q", "high", 1, 100, 20), Shown("q", "low", 5, 100, 20),
            Shown("q", "other", 2, 400, 60)]  # fmt: skip
    grades = {one.source_key: one.grade for one in verdicts(rows, ASSUMED)}
    assert grades == {"high": 0, "low": 1, "other": None}


@pytest.mark.parametrize(
    "rows",
    [
        [Shown("q", "a", 1, 9, 9), Shown("q", "b", 2, 9, 0)],  # too few looks
        [Shown("q", "a", 1, 100, 30), Shown("q", "b", 2, 100, 15)],  # alike
        [Shown("q", "a", 1, 100, 0)],  # nothing was opened
        [Shown("q", "a", 1, 100, 100)],  # and all of it
    ],
)
def test_no_verdict(rows: list[Shown]) -> None:
    assert {one.grade for one in verdicts(rows, ASSUMED)} == {None}


# In a database.


@pytest.fixture
def library(committed: Database) -> Database:
    """40 queries, each of which shows two documents 20 times; the second is opened."""
    committed.rows("SELECT add_collection('c', 'english')")
    documents = [(f"d{number}", "", f"word{number % 40} text {number}") for number in range(80)]
    ids = add_documents(committed, "c", documents)
    chunks = dict(committed.rows("SELECT document_id, id FROM pgblend_data.chunk"))
    for number in range(40):
        first, second = ids[number], ids[number + 40]
        for _ in range(20):
            found = [
                {"rank": rank, "chunk_id": chunks[one], "document_id": one, "score": 1}
                for rank, one in enumerate((first, second), 1)
            ]
            search = log_search(committed, query=f" Word{number}  ", collections=["c"],
                                results=found, role_name=role_of(committed))  # fmt: skip
            committed.rows("SELECT click(%s, %s)", search, chunks[second])
    return committed


def role_of(db: Database) -> str:
    return str(db.value("SELECT session_user::text"))


GRADES = "SELECT query, source_key, grade FROM judgements WHERE judged_set = 'learned: c'"


def test_a_judged_set_of_clicks(
    library: Database, pgblend: Pgblend, parse_valid: ParseValid
) -> None:
    log_search(library, query="word1", collections=["c"], role_name="another")  # tells no clicks
    log_search(library, query="0" * 64, collections=["c"], role_name=role_of(library))
    told = parse_valid(pgblend("eval", "learn", "-c", "c", "--json"), "eval-learn")
    assert {name: told[name] for name in ("clicks", "documents", "relevant", "queries")} == {
        "clicks": 800, "documents": 80, "relevant": 40, "queries": 40,
    }  # fmt: skip
    assert (told["not_relevant"], told["no_verdict"], told["judged"]) == (40, 0, 0)
    assert [one["propensity"] for one in told["propensities"][:2]] == [1, 0.5]
    grades = {(query, key): grade for query, key, grade in library.rows(GRADES)}
    assert len(grades) == 80
    assert (grades["word3", "d3"], grades["word3", "d43"]) == (0, 1)
    assert "learned: c" in pgblend("eval", "learn", "-c", "c").stdout


def test_what_people_judge_counts_first(library: Database, pgblend: Pgblend) -> None:
    chunk_id = library.value(
        "SELECT c.chunk_id FROM chunks AS c INNER JOIN documents AS d USING (document_id)"
        " WHERE d.source_key = 'd43'"
    )
    library.rows("SELECT pgblend._note_feedback('word3', %s, -1)", chunk_id)
    assert pgblend("eval", "learn", "-c", "c").exit_code == 0
    assert ("word3", "d43", -1) in library.rows(GRADES)
    library.rows("DELETE FROM pgblend_data.search_log WHERE query ~ 'Word5 '")
    library.rows("SELECT pgblend._note_feedback('word3', %s, NULL)", chunk_id)
    assert pgblend("eval", "learn", "-c", "c").exit_code == 0  # it is taken back
    grades = library.rows(GRADES)
    assert ("word3", "d43", 1) in grades
    assert not [query for query, *_ in grades if query == "word5"]


def test_nothing_to_learn_of(committed: Database, pgblend: Pgblend) -> None:
    committed.rows("SELECT add_collection('c')")
    result = pgblend("eval", "learn", "-c", "c")
    assert (result.exit_code, "0 clicks" in result.stderr) == (1, True)
    assert "log searches" in result.stderr
    lacking = pgblend("eval", "learn", "-c", "nowhere")
    assert (lacking.exit_code, "no collection 'nowhere'" in lacking.stderr) == (1, True)
    both = pgblend("eval", "tune", "--feedback", "c", "--set", "x")
    assert (both.exit_code, "one of --set and --feedback" in both.stderr) == (2, True)
    assert pgblend("eval", "tune").exit_code == 2
    assert pgblend("eval", "tune", "--feedback", "c").exit_code == 1


def test_too_few_looks_are_not_taken_for_no_clicks(library: Database, pgblend: Pgblend) -> None:
    library.rows(
        "DELETE FROM pgblend_data.click WHERE search_id NOT IN ("
        "SELECT l.search_id FROM pgblend_data.search_log AS l ORDER BY l.search_id LIMIT 5)"
    )
    library.rows(
        "DELETE FROM pgblend_data.search_log WHERE search_id NOT IN ("
        "SELECT c.search_id FROM pgblend_data.click AS c)"
    )
    told = pgblend("eval", "learn", "-c", "c").stderr
    assert "5 clicks, and on none of" in told
    assert "10 looks" in told
    assert "log searches" not in told


def passage_vector(text: str) -> list[float]:
    """Return the vector of "wordN text M": near the query wordN, the nearer where M is above 39."""
    word, _, number = text.split()[-3:]
    vector = [0.0] * 41
    vector[int(word.removeprefix("word"))], vector[40] = 1.0, float(int(number) < 40)
    return vector


@pytest.mark.slow
def test_tuning_on_clicks(library: Database, pgblend: Pgblend, parse_valid: ParseValid) -> None:
    """Vectors know what people open: the second document of each query."""
    library.rows("SELECT create_embedding_space('s', 'test/words', 41, probe => false)")
    with library.connection.transaction():
        waiting = library.rows("SELECT * FROM pgblend._next_embeddings('s', NULL)")
        stage(library, [(chunk_id, passage_vector(text)) for chunk_id, text in waiting])
        assert library.value("SELECT pgblend._store_embeddings('s')") == 80
    assert pgblend("eval", "learn", "-c", "c").exit_code == 0
    library.rows(
        "UPDATE pgblend_data.judged_query AS q SET embedding = ARRAY(SELECT"
        " (n = substr(q.query, 5)::int)::int::float8 FROM generate_series(0, 40) AS n)::vector"
    )
    result = pgblend("eval", "tune", "--feedback", "c", "--trials", "5", "--save", "keen", "--json")
    told = parse_valid(result, "eval-tune")
    assert told["set"] == "learned: c"
    held_back = told["held_back"]
    assert 10 <= held_back["queries"] <= 30
    assert held_back["vector"]["mean_a"] == 1.0
    assert library.value("SELECT count(*) FROM evaluation_runs") == 0
    assert library.value("SELECT settings FROM profiles WHERE name = 'keen'") == told["settings"]
    for arguments, feedback in (((), False), (("--feedback",), True)):
        found = json.loads(pgblend("calibrate", *arguments, "--json").stdout)["calibrations"][0]
        assert found["feedback"] is feedback
        missing = "40 of 40 searches went without an arm" if feedback else "0 are judged"
        assert missing in found["missing"]
