"""`pgblend eval`: judged sets from files, runs on them, and what is refused."""

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import psycopg
import pytest
from click.testing import Result

from pgblend.cli.measure.compare import reranking_verdict, told_verdict
from support.model_provider import ModelProvider, embed

DOCUMENTS = [
    ("d1", "Wine", "The production of red wine in France, in the old cellars of the south."),
    ("d2", "Deploy", "How to deploy a service to production: run the script and wait for it."),
    ("d3", "Sea", "Ships sail the open sea when the wind is fair and the captain is awake."),
    ("d4", "White wine", ""),
]
QUERIES = [
    ("q1", 'red "wine'),
    ("q2", "deploy -service or production"),
    ("q3", "captain of the ships"),
    ("q4", "never judged"),
]
QRELS = [("q1", "d1", "2"), ("q1", "d4", "1"), ("q2", "d3", "1"), ("q3", "d3", "1")]
DIMENSIONS = 8
# Only the first document of q1 is found by words at once; q2's is not found at all.
LEXICAL_NDCG = (1 + 0 + 1) / 3

Pgblend = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A judged set in the layout of the shared data."""
    write(
        tmp_path / "corpus.jsonl.xz",
        [{"_id": key, "title": title, "text": text} for key, title, text in DOCUMENTS],
    )
    write(tmp_path / "queries.jsonl", [{"_id": key, "text": text} for key, text in QUERIES])
    write_qrels(tmp_path, QRELS)
    np.savez(
        tmp_path / "vectors.npz",
        corpus_ids=np.array([key for key, _, _ in DOCUMENTS]),
        corpus=np.array([embed(text or title, DIMENSIONS) for _, title, text in DOCUMENTS]),
        query_ids=np.array([key for key, _ in QUERIES]),
        queries=np.array([embed(text, DIMENSIONS) for _, text in QUERIES]),
    )
    return tmp_path


def write(path: Path, records: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "wt") as file:
        file.write(text)


def write_qrels(folder: Path, rows: list[tuple[str, str, str]]) -> None:
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(row) for row in rows)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")


def ok(result: Result) -> Result:
    assert result.exit_code == 0, result.output
    return result


def results(pgblend: Pgblend, *arguments: str) -> list[dict[str, Any]]:
    lines = ok(pgblend("eval", "run", "--set", "mine", "--json", *arguments)).stdout.splitlines()
    return [json.loads(line) for line in lines]


class Line:
    """One line of a command's output, as `parse_valid` takes it."""

    def __init__(self, stdout: str) -> None:
        self.stdout = stdout


def counts(connection: psycopg.Connection) -> list[int]:
    tables = ("document", "chunk", "judged_set", "judged_query", "judgement")
    return [
        connection.execute(f"SELECT count(*) FROM pgblend_data.{table}").fetchone()[0]  # type: ignore
        for table in tables
    ]


def test_import_and_run_by_words(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    assert counts(connection) == [4, 4, 1, 4, 4]
    (result,) = results(pgblend, "--arm", "lexical")
    assert (result["set"], result["arm"], result["queries"]) == ("mine", "lexical", 3)
    assert result["metrics"]["nDCG@10"] == pytest.approx(LEXICAL_NDCG)
    assert result["metrics"]["R@5"] == pytest.approx(2 / 3)
    assert result["metrics"]["duplicates@10"] == 0


def test_ready_vectors_need_no_model(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    vectors = str(folder / "vectors.npz")
    report = json.loads(
        ok(
            pgblend("eval", "import", str(folder), "--set", "mine", "--vectors", vectors, "--json")
        ).stdout
    )
    assert (report["documents"], report["stored"], report["vectors"]) == (4, 4, 4)
    hybrid, vector = results(pgblend, "--profile", "balanced", "--arm", "vector")
    assert (hybrid["profile"], vector["profile"]) == ("balanced", None)
    assert hybrid["degraded_queries"] == vector["degraded_queries"] == 0
    assert vector["metrics"]["R@100"] == 1  # all documents have a vector
    again = json.loads(
        ok(
            pgblend("eval", "import", str(folder), "--set", "mine", "--vectors", vectors, "--json")
        ).stdout
    )
    assert (again["stored"], again["vectors"]) == (0, 0)
    other = ok_not(
        pgblend(
            "eval", "import", str(folder), "--set", "x", "--vectors", vectors, "--model", "another"
        )
    )
    assert "embedding space" in other.stderr
    assert counts(connection)[2] == 1


def ok_not(result: Result) -> Result:
    assert result.exit_code == 1, result.output
    return result


def test_a_killed_run_goes_on_and_runs_are_the_same(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    run_id = connection.execute(
        "SELECT pgblend._start_run('mine', 'lexical', NULL, '{}', 100)"
    ).fetchone()[0]  # type: ignore[index]
    assert connection.execute("SELECT blend.evaluate_queries(%s, 1)", [run_id]).fetchone() == (1,)
    (first,) = results(pgblend, "--arm", "lexical")
    (second,) = results(pgblend, "--arm", "lexical")
    assert (first["run_id"], second["run_id"]) == (run_id, run_id + 1)
    rankings = connection.execute(
        "SELECT run_id, query_key, source_keys, scores FROM blend.evaluation_queries"
    ).fetchall()
    found = [
        sorted(str(row[1:]) for row in rankings if row[0] == run) for run in (run_id, run_id + 1)
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_another_way_is_another_run(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    (one,) = results(pgblend, "--arm", "lexical", "--option", "k1=0.9")
    assert one["run_id"] == 1
    row = connection.execute("SELECT settings ->> 'k1' FROM blend.evaluation_runs").fetchone()
    assert row == ("0.9",)
    wrong = pgblend("eval", "run", "--set", "mine", "--option", "k9=1")
    assert wrong.exit_code == 1
    assert "k9" in wrong.stderr


def test_a_bad_file_stores_nothing(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    write_qrels(folder, [("q1", "d1", "1"), ("q9", "d1", "1")])
    result = ok_not(pgblend("eval", "import", str(folder), "--set", "mine"))
    assert "qrels.tsv, line 3: there is no query 'q9'" in result.stderr
    assert counts(connection) == [0] * 5


def test_grades_that_are_no_whole_numbers(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    (whole,) = results(pgblend, "--arm", "lexical")
    write_qrels(folder, [(query, key, f"{int(grade) / 4}") for query, key, grade in QRELS])
    load = ("eval", "import", str(folder), "--set", "mine", "--replace")
    result = ok(pgblend(*load))
    assert "qrels.tsv has grades that are no whole numbers: all are stored times 4" in result.stderr
    assert json.loads(ok(pgblend(*load, "--json")).stdout)["grade_scale"] == 4
    grades = connection.execute("SELECT grade FROM blend.judgements ORDER BY grade").fetchall()
    assert grades == [(1,), (1,), (1,), (2,)]
    (scaled,) = results(pgblend, "--arm", "lexical")
    assert scaled["metrics"]["nDCG@10"] == whole["metrics"]["nDCG@10"]


def test_bad_vectors_store_nothing(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    good = dict(np.load(folder / "vectors.npz"))
    few = {"corpus_ids": good["corpus_ids"][:2], "corpus": good["corpus"][:2]}
    np.savez(folder / "bad.npz", **(good | few))
    load = ("eval", "import", str(folder), "--set", "m", "--vectors", str(folder / "bad.npz"))
    assert "no vector for 2" in ok_not(pgblend(*load)).stderr
    assert counts(connection) == [0] * 5


def test_files_as_other_systems_write_them(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    for number, (queries, qrels) in enumerate(
        [
            ("\ufeffq 1\tred wine\r\n\r\n", "\ufeffquery-id\tcorpus-id\tscore\r\nq 1\td1\t2.0\r\n"),
            ("q 1\tred wine", "q 1\t0\td1\t2 "),
        ]
    ):
        other = folder / f"other{number}"
        other.mkdir()
        (other / "queries.tsv").write_bytes(queries.encode())
        (other / "qrels.tsv").write_bytes(qrels.encode())
        ok(pgblend("eval", "import", str(other), "--set", f"o{number}", "--collection", "mine"))
    assert connection.execute(
        "SELECT judged_set, query_key, query, source_key, grade FROM blend.judgements"
        " WHERE judged_set <> 'mine' ORDER BY 1"
    ).fetchall() == [(name, "q 1", "red wine", "d1", 2) for name in ("o0", "o1")]


def test_trec_topics_and_a_beir_folder(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    trec = folder / "trec"
    trec.mkdir()
    (trec / "topics.txt").write_text(
        "<top>\n<num> Number: 7\n<title> red\nwine\n<desc> more\n</top>\n"
    )
    (trec / "qrels.txt").write_text("7 0 d1 1\n7 0 d2 -1\n")
    ok(pgblend("eval", "import", str(trec), "--set", "trec", "--collection", "mine"))
    (folder / "queries.jsonl").unlink()
    (folder / "qrels.tsv").unlink()
    (folder / "qrels").mkdir()
    (folder / "queries.tsv").write_text("a\tred wine\n")
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\na\td1\t1\n")
    ok(pgblend("eval", "import", str(folder), "--set", "beir", "--collection", "mine", "--split",
               "dev"))  # fmt: skip
    rows = connection.execute(
        "SELECT judged_set, query_key, query, source_key, grade FROM blend.judgements"
        " WHERE judged_set <> 'mine' ORDER BY 1, 4"
    ).fetchall()
    assert rows == [
        ("beir", "a", "red wine", "d1", 1),
        ("trec", "7", "red wine", "d1", 1),
        ("trec", "7", "red wine", "d2", -1),
    ]
    assert counts(connection)[0] == 4


def test_another_set_of_the_same_name(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    results(pgblend, "--arm", "lexical")
    write_qrels(folder, [("q1", "d2", "1")])
    result = ok_not(pgblend("eval", "import", str(folder), "--set", "mine"))
    assert "already, with other judgements" in result.stderr
    ok(pgblend("eval", "import", str(folder), "--set", "mine", "--replace"))
    assert counts(connection) == [4, 4, 1, 4, 1]
    assert connection.execute("SELECT count(*) FROM blend.evaluation_runs").fetchone() == (0,)


def test_a_set_that_cannot_be_made_stores_nothing(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    wrong = ok_not(pgblend("eval", "import", str(folder), "--set", " x", "--collection", "fresh"))
    assert "name of a judged set is ' x'" in wrong.stderr
    assert counts(connection) == [0] * 5
    assert connection.execute("SELECT count(*) FROM blend.collections").fetchone() == (0,)


def test_a_name_that_two_collections_have(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path, tmp_path: Path
) -> None:
    load = ("eval", "import", str(folder), "--set", "mine")
    ok(pgblend(*load))
    ok(pgblend(*load, "--collection", "other"))
    run = ("eval", "run", "--set", "mine", "--arm", "lexical", "--json")
    refused = ok_not(pgblend(*run)).stderr
    assert 'judged set "mine" is of several collections: mine, other' in refused
    assert "--collection" in refused
    gate = ("eval", "gate", "--set", "mine", "--arm", "lexical", "--min", "ndcg@10=0", "--json")
    runs = [
        json.loads(ok(pgblend(*command, "-c", name)).stdout)["run_id"]
        for command, name in ((run, "mine"), (gate, "other"))
    ]
    listed = json.loads(ok(pgblend("eval", "list", "-c", "other", "--json")).stdout)["runs"]
    assert [(one["run_id"], one["collection"]) for one in listed] == [(runs[1], "other")]
    compared = ok_not(pgblend("eval", "compare", *map(str, runs))).stderr
    assert f"run {runs[0]} is on 'mine' of mine, run {runs[1]} on 'mine' of other" in compared
    page = tmp_path / "report.html"
    ok(pgblend("eval", "report", "--set", "mine", "-o", str(page)))
    text = page.read_text(encoding="utf-8")
    assert "mine (mine)" in text
    assert "mine (other)" in text
    ok(pgblend("eval", "report", "-c", "other", "-o", str(page)))
    assert "mine (mine)" not in page.read_text(encoding="utf-8")
    tuned = pgblend("eval", "tune", "--set", "mine", "-c", "other")
    assert tuned.exit_code != 0
    assert "several" not in tuned.stderr  # but it has no vectors
    ok(pgblend(*load, "--collection", "other", "--replace"))
    assert connection.execute("SELECT count(*) FROM blend.evaluation_runs").fetchone() == (1,)


def test_what_was_imported_before_is_not_taken_for_another(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    load = ("eval", "import", str(folder), "--set", "mine")
    vectors = ("--vectors", str(folder / "vectors.npz"))
    ok(pgblend(*load))
    assert "already, without vectors" in ok_not(pgblend(*load, *vectors)).stderr
    ok(pgblend(*load, *vectors, "--replace"))
    ok(pgblend(*load, *vectors))
    assert "already, with vectors" in ok_not(pgblend(*load)).stderr
    good = dict(np.load(folder / "vectors.npz"))
    np.savez(folder / "moved.npz", **(good | {"queries": good["queries"][::-1]}))
    moved = pgblend(*load, "--vectors", str(folder / "moved.npz"))
    assert "already, with other vectors" in ok_not(moved).stderr
    write(folder / "queries.jsonl", [{"_id": key, "text": f"{text}?"} for key, text in QUERIES])
    assert "already, with other queries" in ok_not(pgblend(*load, *vectors)).stderr
    assert counts(connection) == [4, 4, 1, 4, 4]


def test_list_and_show(
    pgblend: Pgblend, folder: Path, parse_valid: Callable[[Any, str], Any]
) -> None:
    imported = ok(pgblend("eval", "import", str(folder), "--set", "mine", "--json"))
    assert parse_valid(imported, "eval-import")["documents"] == 4
    (line,) = results(pgblend, "--arm", "lexical")
    parse_valid(Line(json.dumps(line)), "eval-run")
    assert "mine" in ok(pgblend("eval", "list")).stdout
    sets = parse_valid(ok(pgblend("eval", "list", "--json")), "eval-list")["sets"]
    assert [(each["name"], each["queries"], each["judged_queries"]) for each in sets] == [
        ("mine", 4, 3)
    ]
    runs = parse_valid(ok(pgblend("eval", "list", "--runs", "--json")), "eval-list")["runs"]
    assert [(run["run_id"], run["state"]) for run in runs] == [(1, "done")]
    shown = parse_valid(ok(pgblend("eval", "show", "1", "--json")), "eval-show")
    assert shown["worst_queries"][0]["query_key"] == "q2"
    assert "captain" in ok(pgblend("eval", "show", "1")).stdout
    assert "no run 9" in ok_not(pgblend("eval", "show", "9")).stderr
    table = ok(pgblend("eval", "run", "--set", "mine", "--arm", "lexical")).stdout
    assert "nDCG@10" in table


def test_what_is_missing_is_named(pgblend: Pgblend, tmp_path: Path) -> None:
    result = ok_not(pgblend("eval", "import", str(tmp_path), "--set", "mine"))
    assert "has no file of queries" in result.stderr
    (tmp_path / "queries.tsv").write_text("q\ttext\n")
    (tmp_path / "qrels.tsv").write_text("q\td\t1\n")
    result = ok_not(pgblend("eval", "import", str(tmp_path), "--set", "mine"))
    assert "'mine' has no documents" in result.stderr
    result = pgblend("eval", "run", "--set", "nowhere")
    assert result.exit_code == 1
    assert 'no judged set "nowhere"' in result.stderr


def test_two_runs_are_compared(
    pgblend: Pgblend, folder: Path, parse_valid: Callable[[Any, str], Any]
) -> None:
    vectors = str(folder / "vectors.npz")
    ok(pgblend("eval", "import", str(folder), "--set", "mine", "--vectors", vectors))
    results(pgblend, "--arm", "lexical", "--arm", "vector")
    result = parse_valid(ok(pgblend("eval", "compare", "1", "2", "--json")), "eval-compare")
    paired = result["metrics"]["nDCG@10"]
    assert paired["queries"] == paired["wins"] + paired["losses"] + paired["ties"] == 3
    assert paired["mean_a"] == pytest.approx(LEXICAL_NDCG)
    assert paired["difference"] == pytest.approx(paired["mean_b"] - paired["mean_a"])
    best = result["queries"][0]
    assert best["query_key"] == "q2"  # the words do not find it, the vectors find everything
    assert best["difference"] == best["b"] > 0
    assert best["explain_a"] == "pgblend eval explain 1 q2"
    assert best["explain"] == "pgblend eval explain 2 q2"
    text = ok(pgblend("eval", "compare", "1", "2")).stdout
    assert "p_value" in text
    assert "deploy" in text
    assert "there is no run 9" in ok_not(pgblend("eval", "compare", "1", "9")).stderr
    ok(pgblend("eval", "import", str(folder), "--set", "other", "--collection", "mine"))
    ok(pgblend("eval", "run", "--set", "other", "--arm", "lexical"))
    assert "one judged set" in ok_not(pgblend("eval", "compare", "1", "3")).stderr
    assert result["warnings"] == []


def test_few_passages_tell_no_deep_metric(pgblend: Pgblend, folder: Path) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    (few,) = results(pgblend, "--arm", "lexical", "-n", "20")
    assert "R@100" not in few["metrics"]
    assert few["metrics"]["nDCG@10"] == pytest.approx(LEXICAL_NDCG)
    shown = ok(pgblend("eval", "run", "--set", "mine", "--arm", "lexical", "-n", "20")).stdout
    assert "R@10 " in shown
    assert "R@100" not in shown
    assert "R@100" not in ok(pgblend("eval", "show", "1")).stdout
    assert pgblend("eval", "run", "--set", "mine", "-n", "9").exit_code == 2
    page = folder / "page.html"
    ok(pgblend("eval", "report", "-o", str(page)))
    assert "n/a" in page.read_text()


@pytest.mark.slow
def test_compare_says_what_else_differs(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    results(pgblend, "--arm", "lexical")
    connection.execute("SELECT blend.record_judgement('mine', 'sail', 'd3', 1)")
    results(pgblend, "--arm", "lexical", "-n", "50")
    connection.execute(
        "UPDATE pgblend_data.evaluation_result SET degraded = '{lexical: late}' WHERE run_id = 2"
    )
    assert "both measured R@100" in ok_not(
        pgblend("eval", "compare", "1", "2", "--metric", "R@100")
    ).stderr  # fmt: skip
    found = ok(pgblend("eval", "compare", "1", "2"))
    assert "R@100" not in found.stdout
    for warning in (
        "0 queries of run 1 and 1 of run 2 are not in the other and left out",
        "judgements: 4 in run 1, 5 in run 2",
        "queries: 4 in run 1, 5 in run 2",
        "limit: 100 and 50 passages a search",
        "run 2: 4 searches went on without a stage",
    ):
        assert f"warning: {warning}\n" in found.stderr


@pytest.mark.slow
def test_where_reranking_gains(
    pgblend: Pgblend,
    gateway_connection: psycopg.Connection,
    model_provider: ModelProvider,
    folder: Path,
    parse_valid: Callable[[Any, str], Any],
) -> None:
    vectors = str(folder / "vectors.npz")
    ok(pgblend("eval", "import", str(folder), "--set", "mine", "--vectors", vectors))
    set_model = "SELECT blend.set_setting('rerank_model', to_jsonb(%s::text))"
    gateway_connection.execute(set_model, [model_provider.rerank_model])

    def told_by_doctor() -> list[dict[str, Any]]:
        report = json.loads(pgblend("doctor", "--json").stdout)
        return [check for check in report["checks"] if check["name"].startswith("reranking")]

    (unknown,) = told_by_doctor()
    assert unknown["found"].startswith(f"whether {model_provider.rerank_model} gains is not known")
    patient = ("--option", 'timeouts_ms={"rerank": 60000}')
    results(pgblend, "--profile", "balanced", *patient)
    results(pgblend, "--profile", "balanced", *patient, "--option", "rerank=off")
    versions = "SELECT versions ->> 'rerank_model' FROM blend.evaluation_runs ORDER BY run_id"
    models = [row[0] for row in gateway_connection.execute(versions)]
    assert models == [model_provider.rerank_model, None]
    found = parse_valid(ok(pgblend("eval", "compare", "2", "1", "--json")), "eval-compare")
    verdict = found["reranking"]
    assert (verdict["set"], verdict["profile"], verdict["verdict"]) == ("mine", "balanced", "none")
    assert verdict["difference"] == found["metrics"]["nDCG@10"]["difference"]
    turned = json.loads(ok(pgblend("eval", "compare", "1", "2", "--json")).stdout)
    assert turned["reranking"]["difference"] == verdict["difference"]
    assert turned["reranking"]["ms"] == verdict["ms"]
    text = ok(pgblend("eval", "compare", "2", "1"))
    assert "no verdict, may be chance: nDCG@10" in text.stdout
    assert text.stderr == ""
    (told,) = told_by_doctor()
    assert (told["name"], told["status"]) == ("reranking of mine by balanced", "ok")
    assert told["found"] in text.stdout.replace("\n", " ")
    results(pgblend, "--arm", "lexical")
    assert (
        json.loads(ok(pgblend("eval", "compare", "2", "3", "--json")).stdout)["reranking"] is None
    )


@pytest.mark.parametrize(("sign", "verdict"), [(1, "gains"), (-1, "loses")])
def test_a_verdict_on_reranking(sign: int, verdict: str) -> None:
    run = {"judged_set": "s", "profile": "p", "arm": "hybrid", "result_limit": 100}
    with_it = {**run, "versions": {"rerank_model": "m"}, "settings": {"rerank": "on", "rrf_k": 60}}
    without = {**run, "versions": {}, "settings": {"rerank": "off", "rrf_k": 60}}
    times = {"metrics": {"latency_p50_ms": 30.0}}, {"metrics": {"latency_p50_ms": 10.0}}
    paired = {"difference": 0.1 * sign, "low": 0.05, "high": 0.15, "p_value": 0.01}
    found = reranking_verdict(without | times[1], with_it | times[0], {"nDCG@10": paired})
    assert found is not None
    assert (found["verdict"], found["ms"], found["difference"]) == (verdict, 20.0, 0.1 * sign)
    assert "and takes +20 ms a search" in told_verdict(found)
    assert reranking_verdict(with_it, with_it, {"nDCG@10": paired}) is None
    for other in (
        {"settings": {"rerank": "off", "rrf_k": 61}},
        {"arm": "lexical"},
        {"profile": "gno"},
        {"result_limit": 50},
        {"versions": {"expansion_model": "m"}},
    ):
        unlike = without | times[1] | other
        assert reranking_verdict(unlike, with_it | times[0], {"nDCG@10": paired}) is None


@pytest.mark.slow
def test_what_compare_names_explains_that_very_search(
    pgblend: Pgblend,
    connection: psycopg.Connection,
    folder: Path,
    parse_valid: Callable[[Any, str], Any],
) -> None:
    vectors = str(folder / "vectors.npz")
    ok(pgblend("eval", "import", str(folder), "--set", "mine", "--vectors", vectors))
    results(pgblend, "--profile", "balanced", "--arm", "vector", "--option", "candidate_depth=50")
    for run, arms in ((1, {"lexical", "vector"}), (2, {"vector"})):
        shown = parse_valid(
            ok(pgblend("eval", "explain", str(run), "q1", "--json")), "search-results"
        )
        stored = connection.execute(
            "SELECT source_keys, query FROM blend.evaluation_queries"
            " WHERE run_id = %s AND query_key = 'q1'",
            [run],
        ).fetchone()
        assert ([row["source_key"] for row in shown["results"]], shown["query"]) == stored
        assert {arm for row in shown["results"] for arm in row["arms"]} == arms
        assert shown["explain"]["settings"]["candidate_depth"]["value"] == 50
        assert shown["warnings"] == []  # no model was asked for: the vector is the run's
    page = folder / "page.html"
    text = ok(pgblend("eval", "explain", "2", "q2", "--explain-html", str(page)))
    assert "vector" in text.stderr
    assert page.read_text().startswith("<!DOCTYPE html>")
    for wrong in (("9", "q1"), ("1", "q9")):
        assert "that you may read" in ok_not(pgblend("eval", "explain", *wrong)).stderr
    report = folder / "my report.html"
    ok(pgblend("eval", "report", "-o", str(report), "--explain"))
    links = re.findall(r'<a href="([^"]*)"', report.read_text())
    assert len(links) == len(set(links)) == 6
    for link in links:
        assert "<!DOCTYPE html>" in (folder / unquote(link)).read_text()


def test_the_report_is_one_page_that_fetches_nothing(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    assert "no finished run" in ok_not(pgblend("eval", "report", "-o", "none.html")).stderr
    write(
        folder / "queries.jsonl",
        [{"_id": key, "text": f"{text} <script>alert(1)</script>"} for key, text in QUERIES],
    )
    ok(pgblend("eval", "import", str(folder), "--set", "mine"))
    results(pgblend, "--arm", "lexical", "--arm", "fuzzy")
    connection.execute(
        "UPDATE pgblend_data.evaluation_result SET degraded = '{lexical: late}' WHERE run_id = 2"
    )
    page = folder / "page.html"
    ok(pgblend("eval", "report", "--set", "mine", "-o", str(page)))
    text = page.read_text()
    assert text.count("<svg") == 3
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "3 of 3 searches went on without a stage" in text
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', text) == []
    one = ok(pgblend("eval", "report", "--run", "1", "-o", str(folder / "one.html")))
    assert one.stderr.endswith("one.html: 1 run\n")
    again = folder / "again.html"
    ok(pgblend("eval", "report", "--set", "mine", "-o", str(again)))
    assert again.read_text() == text
    ok(pgblend("eval", "run", "--set", "mine", "--arm", "lexical"))
    ok(pgblend("eval", "report", "--run", "1", "--run", "3", "-o", str(page)))
    assert "lexical, run 1" in page.read_text()
    assert "lexical, run 3" in page.read_text()
    for wrong, problem in (
        (("--run", "1", "--run", "9"), "of run 9"),
        (("--set", "mine", "--set", "no$such$"), "of 'no$such$'"),
    ):
        assert problem in ok_not(pgblend("eval", "report", *wrong, "-o", str(page))).stderr
    nowhere = pgblend("eval", "report", "-o", str(folder / "none" / "page.html"))
    assert "cannot write" in ok_not(nowhere).stderr
    no_folder = pgblend("eval", "report", "--explain", "-o", str(page / "page.html"))
    assert "cannot write" in ok_not(no_folder).stderr


def test_a_document_that_cannot_be_stored_is_named_by_its_line(
    pgblend: Pgblend, connection: psycopg.Connection, folder: Path
) -> None:
    (folder / "corpus.jsonl.xz").unlink()
    documents = [{"_id": key, "title": title, "text": text} for key, title, text in DOCUMENTS]
    documents[2]["_id"] = "d3" * 3000  # longer than an index takes
    write(folder / "corpus.jsonl", documents)
    write_qrels(folder, [("q1", "d1", "1")])
    result = ok_not(pgblend("eval", "import", str(folder), "--set", "mine"))
    assert "corpus.jsonl, line 3: " in result.stderr
    assert counts(connection) == [2, 2, 0, 0, 0]
    documents[2]["_id"] = "d3"
    write(folder / "corpus.jsonl", documents)
    report = ok(pgblend("eval", "import", str(folder), "--set", "mine", "--json"))
    assert json.loads(report.stdout)["stored"] == 2  # those that were not there yet
