"""`pgblend calibrate`: relevance becomes a probability, and lists end where they are asked to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
QUERIES = 240
SEARCH = """
    SELECT r.source_key, r.relevance, r.details ->> 'relevance_basis' AS basis, r.degraded
    FROM blend.hybrid_search(%s, 10, '{judged}', query_embedding => %s::vector,
        options => %s::jsonb) AS r ORDER BY r.rank
"""


@pytest.fixture
def judged(pgblend: Pgblend, tmp_path: Path) -> dict[str, Any]:
    """A judged set: each query has a word of its document's, and its vector, with much noise."""
    random = np.random.default_rng(7)
    corpus = random.normal(size=(QUERIES, 16))
    corpus /= np.linalg.norm(corpus, axis=1, keepdims=True)
    queries = corpus + random.normal(scale=0.25, size=corpus.shape)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    ids = [f"d{number}" for number in range(QUERIES)]
    folder = tmp_path / "set"
    folder.mkdir()
    lines = (
        {"_id": one, "title": "", "text": f"group{number % 12} letter{number % 35}"}
        for number, one in enumerate(ids)
    )
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    asked = [
        {"_id": f"q{number}", "text": f"group{number % 12} question {number}"}
        for number in range(QUERIES)
    ]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    qrels = [f"q{number}\td{number}\t1" for number in range(QUERIES)]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *qrels]))
    np.savez(
        tmp_path / "set.npz",
        corpus_ids=ids,
        corpus=corpus.astype(np.float32),
        query_ids=[f"q{number}" for number in range(QUERIES)],
        queries=queries.astype(np.float32),
    )
    result = pgblend(
        *("eval", "import", str(folder), "--set", "judged", "--model", "test/noise"),
        *("--vectors", str(tmp_path / "set.npz")),
    )
    assert result.exit_code == 0, result.output
    return {"texts": [one["text"] for one in asked], "vectors": queries}


@pytest.mark.slow
@pytest.mark.usefixtures("gateway_connection")
def test_relevance_becomes_a_probability_and_lists_end(
    pgblend: Pgblend,
    connection: psycopg.Connection,
    judged: dict[str, Any],
    tmp_path: Path,
    parse_valid: Callable[[Result, str], Any],
) -> None:
    def search(number: int, options: dict[str, Any] | None = None) -> list[Any]:
        vector = str(judged["vectors"][number].tolist())
        values = judged["texts"][number], vector, json.dumps(options or {})
        return connection.execute(SEARCH, values).fetchall()

    before = search(3)
    assert {row[2] for row in before} == {"cosine"}
    assert "calibrated judged: relevance is a probability" in pgblend("worker", "--once").stderr
    found = parse_valid(pgblend("calibrate", "--json"), "calibrate")["calibrations"][0]
    assert (found["basis"], found["queries"], found["missing"]) == ("calibrated", QUERIES, None)
    assert 90 <= found["held_back"] <= 150
    assert found["low"] <= found["error"] <= found["high"] <= 0.05
    assert sum(one["rows"] for one in found["reliability"]) == 10 * found["held_back"]

    after = search(3)
    assert [row[0] for row in after] == [row[0] for row in before]
    assert {row[2] for row in after} == {"calibrated"}
    relevances = [row[1] for row in after]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= one <= 1 for one in relevances)
    # Chances add up to about as many as are relevant: one a query, where it is found at all.
    all_rows = [search(number) for number in range(0, QUERIES, 3)]
    expected = sum(row[1] for rows in all_rows for row in rows)
    is_there = [f"judged/d{n}" for n in range(0, QUERIES, 3)]
    keys = [{row[0].rpartition("/")[2] for row in rows} for rows in all_rows]
    relevant = sum(
        one.rpartition("/")[2] in of_query for one, of_query in zip(is_there, keys, strict=True)
    )
    assert abs(expected - relevant) <= 0.1 * relevant

    page = tmp_path / "page.html"
    assert pgblend("eval", "run", "--set", "judged", "-n", "10").exit_code == 0
    assert pgblend("eval", "report", "-o", str(page)).exit_code == 0
    assert f"error {found['error']:.3f} ({found['low']:.3f} to" in page.read_text()

    least = relevances[1]
    assert search(3, {"min_relevance": least}) == after[:2]
    assert search(3, {"min_relevance": 0.9999}) == []
    sizes = {}
    for coverage in (0.6, 0.8):
        lists = [search(number, {"coverage": coverage}) for number in range(0, QUERIES, 3)]
        held = [
            f"d{number}" in {row[0].rpartition("/")[2] for row in rows}
            for number, rows in zip(range(0, QUERIES, 3), lists, strict=True)
        ]
        assert coverage - 0.15 <= np.mean(held) <= coverage + 0.15
        sizes[coverage] = sum(map(len, lists))
    assert 0 < sizes[0.6] < sizes[0.8] < 10 * len(lists)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "known"), [("group3", 0.5), ("group3 question", 0.285), ("question", 0)]
)
def test_signals_say_how_much_of_a_query_is_known(
    connection: psycopg.Connection, judged: dict[str, Any], query: str, known: float
) -> None:
    """By idf, of a word that 20 of 240 passages have, and one that none has; a half is enough."""
    (trace,) = connection.execute(
        "SELECT blend.search_explain(%s, 10, '{judged}', query_embedding => %s::vector)",
        [query, str(judged["vectors"][3].tolist())],
    ).fetchone()  # type: ignore[misc]
    page = next(stage for stage in trace["stages"] if stage["name"] == "page")
    assert page["details"]["relevance"]["known"] == pytest.approx(known, abs=0.001)


@pytest.mark.slow
def test_other_settings_have_no_curve(
    pgblend: Pgblend,
    connection: psycopg.Connection,
    judged: dict[str, Any],
    parse_valid: Callable[[Result, str], Any],
) -> None:
    assert pgblend("calibrate", "-c", "judged").exit_code == 0
    vector = str(judged["vectors"][3].tolist())

    def search(options: dict[str, Any]) -> list[Any]:
        values = judged["texts"][3], vector, json.dumps(options)
        return connection.execute(SEARCH, values).fetchall()

    rows = search({"fusion": "rrf", "coverage": 0.8})
    assert {row[2] for row in rows} == {"p_value"}
    assert all(0 <= row[1] <= 1 for row in rows)
    note = "relevance: coverage 0.8 is not known where relevance is p_value; pgblend calibrate"
    assert rows[0][3][0].startswith(note)
    assert len(rows) == 10


@pytest.mark.usefixtures("gateway_connection")
def test_what_is_missing_is_named(
    pgblend: Pgblend,
    connection: psycopg.Connection,
    judged: dict[str, Any],
    parse_valid: Callable[[Result, str], Any],
) -> None:
    connection.execute(
        "DELETE FROM pgblend_data.judged_query WHERE id NOT IN ("
        " SELECT id FROM pgblend_data.judged_query ORDER BY id LIMIT 20)"
    )
    told = pgblend("worker", "--once").stderr
    missing = "30 queries with a relevant document, 20 are judged"
    assert f"judged: relevance is p_value, a curve needs {missing}" in told
    assert "calibrated" not in told
    result = pgblend("calibrate", "--json")
    found = parse_valid(result, "calibrate")["calibrations"][0]
    assert found["basis"] == "p_value"
    assert found["missing"] == missing
    assert "no curve: 30 queries" in result.stderr
    vector = str(judged["vectors"][3].tolist())
    rows = connection.execute(SEARCH, (judged["texts"][3], vector, "{}")).fetchall()
    assert {row[2] for row in rows} == {"p_value"}
    wrong = pgblend("calibrate", "-c", "nowhere")
    assert wrong.exit_code == 1
    assert "'nowhere'" in wrong.stderr


def test_ask_abstains_where_it_is_asked_to(
    pgblend: Pgblend, connection: psycopg.Connection, judged: dict[str, Any]
) -> None:
    assert pgblend("calibrate").exit_code == 0
    (best,) = connection.execute(
        SEARCH, (judged["texts"][3], str(judged["vectors"][3].tolist()), "{}")
    ).fetchall()[:1]

    def ask(least: float) -> dict[str, Any]:
        row = connection.execute(
            "SELECT blend.ask(%s, collections => '{judged}', options => %s::jsonb,"
            " query_embedding => %s::vector, answer => false)",
            (
                judged["texts"][3],
                json.dumps({"abstain_below": least}),
                str(judged["vectors"][3].tolist()),
            ),
        ).fetchone()
        assert row is not None
        found: dict[str, Any] = row[0]
        return found

    answered, abstained = ask(best[1] - 1e-6), ask(best[1] + 1e-6)
    assert (answered["meta"]["abstained"], abstained["meta"]["abstained"]) == (False, True)
    assert answered["citations"]
    assert (abstained["citations"], abstained["answer"]) == ([], None)
    assert abstained["results"] == answered["results"]
    assert abstained["meta"]["tokens"] < answered["meta"]["tokens"]
    told = pgblend("ask", "anything", "-c", "judged", "--option", "abstain_below=1")
    assert told.exit_code == 0


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("mean", "NaN"),
        ("deviation", "Infinity"),
        ("coefficients", "{NaN,1,1,1,1,1,1,1,1}"),
        ("coefficients", "{1,1,1,1,1,1,1,1,Infinity}"),
        ("coefficients", "{1,1}"),
        ("thresholds", "{0.5,NaN}"),
    ],
)
def test_no_writer_stores_a_curve_without_numbers(
    pgblend: Pgblend, connection: psycopg.Connection, column: str, value: str
) -> None:
    connection.execute(
        "SELECT add_collection('c'), create_embedding_space('s', 'm', 2, probe => false)"
    )
    with pytest.raises(psycopg.errors.CheckViolation, match=column):
        connection.execute(
            "INSERT INTO pgblend_data.calibration SELECT (jsonb_populate_record("
            "NULL::pgblend_data.calibration, jsonb_build_object('collection_id', c.id,"
            " 'space', 's', 'model', 'm', 'mean', 0, 'deviation', 1, 'figures', '{}'::jsonb,"
            " 'passages', 1, 'judgements', 1, 'fitted_by', 'x', 'fitted_at', now())"
            " || jsonb_build_object(%s::text, %s::text))).* FROM pgblend_data.collection AS c",
            [column, value],
        )
