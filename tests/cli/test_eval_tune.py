"""Tuning: candidates fused again exactly as a search does it, and settings held to their worth."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from click.testing import Result

from pgblend.cli.measure.arm_candidates import fuse_again, is_tuned_on, ndcg, read_pools
from support.database import Database

Pgblend = Callable[..., Result]
WORDS = ["sea", "ship", "wind", "wine", "red", "white", "cellar", "server", "cloud", "rain", "sun"]
DIMENSIONS = 6


@pytest.fixture
def judged(pgblend: Pgblend, tmp_path: Path) -> None:
    """40 documents of random words and 30 queries; vectors know the answers, words hardly do."""
    chance = random.Random(3)
    numbers = np.random.default_rng(3)
    texts = {f"d{n}": " ".join(chance.choices(WORDS, k=12)) for n in range(40)}
    vectors = {key: numbers.normal(size=DIMENSIONS) for key in texts}
    answers = {f"q{n}": f"d{n}" for n in range(30)}
    queries = {key: " ".join(chance.choices(WORDS, k=3)) for key in answers}
    near = {key: vectors[answer] + 0.1 * numbers.normal(size=6) for key, answer in answers.items()}
    for name, records in (("corpus", texts), ("queries", queries)):
        lines = [json.dumps({"_id": key, "text": text}) + "\n" for key, text in records.items()]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    lines = [f"{query}\t{answer}\t1\n" for query, answer in answers.items()]
    (tmp_path / "qrels.tsv").write_text("".join(lines))
    np.savez(
        tmp_path / "vectors.npz",
        corpus_ids=list(vectors),
        corpus=list(vectors.values()),
        query_ids=list(near),
        queries=list(near.values()),
    )
    file = str(tmp_path / "vectors.npz")
    result = pgblend("eval", "import", str(tmp_path), "--set", "mine", "--vectors", file)
    assert result.exit_code == 0, result.output


OPTIONS: list[dict[str, Any]] = [
    {},
    {"feedback": {"passages": 0}},
    {"fusion": "rrf", "weights": {"vector": 2}, "rrf_k": 20},
    {"fusion": "rrf", "bonus": {"kind": "both_top", "depth": 5, "amount": 0.1,
                                "unit": "attainable"}},
    {"normalization": {"method": "minmax"}, "feedback": {"passages": 1, "weight": 2}},
    {"normalization": {"method": "theoretical"}},
    {"normalization": {"method": "absolute"}, "feedback": {"passages": 0}},
    {"normalization": {"method": "zscore"}, "feedback": {"passages": 0}},
]  # fmt: skip


def test_fused_again_as_a_search_fuses(judged: None, committed: Database) -> None:
    for options in OPTIONS:
        settings = committed.value(
            "SELECT pgblend._search_settings(%s, NULL, '{}')", json.dumps(options)
        )
        pools = read_pools(
            committed.connection, "mine", lambda key: key < "q13", settings, lambda count: None
        )
        assert len(pools) == 5
        for pool in pools:
            rows = committed.rows(
                "SELECT source_key, score FROM pgblend_data.judged_query AS q CROSS JOIN LATERAL"
                " hybrid_search(q.query, 40, '{mine}', NULL, NULL, %s, q.embedding)"
                " WHERE q.key = %s ORDER BY source_key",
                json.dumps(options),
                pool.key,
            )
            fused = fuse_again(pool, settings)
            keys = [pool.source_keys[chunk_id] for chunk_id in fused.chunk_ids]
            again = dict(zip(keys, fused.points, strict=True))
            assert again == pytest.approx(dict(rows), abs=1e-6), options
            assert 0 <= ndcg(pool, settings) <= 1


@pytest.mark.slow
def test_tuning_notices_that_the_vectors_are_better(
    judged: None,
    pgblend: Pgblend,
    connection: psycopg.Connection,
    parse_valid: Callable[[Any, str], Any],
) -> None:
    connection.execute(
        """SELECT blend.set_profile('poor', 'words', '{"weights": {"vector": 0.02}}')"""
    )
    arguments = ("--set", "mine", "--profile", "poor", "--trials", "20", "--save", "better")
    result = pgblend("eval", "tune", *arguments, "--json")
    assert result.exit_code == 0, result.output
    found = parse_valid(result, "eval-tune")
    held_back = found["held_back"]
    assert found["tuned_on"]["queries"] + held_back["queries"] == 30
    assert found["tuned_on"]["tuned"] == found["tuned_on"]["best_trial"]
    assert found["tuned_on"]["tuned"] > found["tuned_on"]["start"] + 0.2
    for name in ("start", "lexical"):
        assert held_back[name]["difference"] > 0.2
        assert held_back[name]["p_value"] < 0.05
    assert found["settings"]["weights"]["vector"] > 0.02
    again = pgblend("eval", "run", "--set", "mine", "--profile", "better", "--json")
    assert json.loads(again.stdout)["profile"] == "better"


def test_too_few_queries_and_none_held_back(judged: None, pgblend: Pgblend) -> None:
    few = pgblend("eval", "tune", "--set", "mine", "--share", "0.1", "--trials", "1")
    assert few.exit_code == 1
    assert "queries to tune on" in few.stderr


def test_without_vectors_and_a_model_there_is_nothing_to_weigh(
    judged: None, pgblend: Pgblend, connection: psycopg.Connection
) -> None:
    connection.execute("UPDATE pgblend_data.judged_query SET embedding = NULL")
    result = pgblend("eval", "tune", "--set", "mine", "--trials", "1")
    assert result.exit_code == 5
    assert "no model gateway is set" in result.stderr
    assert connection.execute("SELECT count(*) FROM blend.evaluation_runs").fetchone() == (0,)


def test_queries_without_a_vector_get_one_from_the_model(
    vectors: None, gateway_connection: psycopg.Connection
) -> None:
    gateway_connection.execute("SELECT add_judged_set('asked', 'library')")
    gateway_connection.execute("SELECT record_judgement('asked', 'deploy -wine', 'deploy.md', 1)")
    gateway_connection.execute("SELECT record_judgement('asked', 'ships', 'sea.md', 1)")
    settings = gateway_connection.execute(
        "SELECT pgblend._search_settings('{}', NULL, '{}')"
    ).fetchone()
    assert settings
    pools = read_pools(gateway_connection, "asked", lambda _: True, settings[0], lambda _: None)
    given = gateway_connection.execute(
        "SELECT unnest(embed_text(ARRAY['deploy wine', 'ships'], NULL, 60000))"
    ).fetchall()
    assert len(pools) == len(given) == 2
    for pool, (vector,) in zip(pools, given, strict=True):
        scores = pool.lists[1].found.scores
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert pool.query_vector == pytest.approx(vector.to_numpy(), abs=1e-6)


def test_the_parts_are_always_the_same_and_never_meet() -> None:
    keys = [f"q{n}" for n in range(1000)]
    tuned = [key for key in keys if is_tuned_on(key, 0.5, 1)]
    assert tuned == [key for key in keys if is_tuned_on(key, 0.5, 1)]
    assert 400 < len(tuned) < 600
    assert tuned != [key for key in keys if is_tuned_on(key, 0.5, 2)]


def test_the_audit_command(
    judged: None,
    pgblend: Pgblend,
    parse_valid: Callable[[Any, str], Any],
    connection: psycopg.Connection,
) -> None:
    result = pgblend("eval", "audit", "-c", "mine", "--sample", "5", "--json")
    (audit,) = parse_valid(result, "eval-audit")["audits"]
    assert (audit["filter"], audit["queries"], audit["recall"]) == (None, 5, 1)
    table = pgblend("eval", "audit", "--filter", '{"kind": "none"}', "--sample", "2")
    assert "selectivity" in table.stdout
    tuned = parse_valid(pgblend("space", "tune", "--sample", "5", "--json"), "space-tune")["tries"]
    assert [(row["ef_search"], row["recall"], row["kept"]) for row in tuned] == [(100, 1, True)]
    (space,) = parse_valid(pgblend("space", "list", "--json"), "space-list")["spaces"]
    assert (space["ef_search"], space["recall"]) == (100, 1)
    doctor = json.loads(pgblend("doctor", "--json").stdout)
    assert any(check["name"] == "vector index" for check in doctor["checks"])
    connection.execute("SELECT blend.drop_embedding_space('default', true)")
    none = pgblend("eval", "audit")
    assert none.exit_code == 1
    assert "no passage has a vector" in none.stderr
    untuned = pgblend("space", "tune")
    assert untuned.exit_code == 1
    assert "no vectors to try" in untuned.stderr
