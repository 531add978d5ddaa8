"""`pgblend eval gate`: what fails a pipeline, and with which exit code."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

from support.database import Database
from support.model_library import EXPANSION, fill, use_models
from support.model_provider import GatewayProcess, ModelProvider

Pgblend = Callable[..., Result]
GATE = ("eval", "gate", "--set", "mine", "--arm", "lexical")


@pytest.fixture
def db(connection: psycopg.Connection) -> Database:
    """A set of two queries; the words find the one's document first, the other's nowhere."""
    db = Database(connection)
    fill(db)
    db.rows("SELECT add_judged_set('mine', 'c')")
    db.rows("SELECT record_judgement('mine', 'ships sail', 'sea', 1)")
    db.rows("SELECT record_judgement('mine', 'wine valley', 'deploy', 1)")
    return db


@pytest.mark.parametrize(
    ("required", "code", "said"),
    [
        (("--min", "ndcg@10=0.5"), 0, ""),
        (("--min", "nDCG@10=0.51"), 6, "mine: nDCG@10 is 0.5, expected at least 0.51"),
        (("--min", "R@100=0.5", "--min", "rr@10=1"), 6, "RR@10 is 0.5, expected at least 1"),
        (("--max-p95-ms", "3600000"), 0, ""),
        (("--max-p95-ms", "0.000001"), 6, "expected at most 1e-06"),
        ((), 2, "nothing is required"),
        (("--min", "map=0.5"), 2, "'map' is no metric: expected one of nDCG@5,"),
        (("--min", "R@10=two"), 2, "'R@10=two': expected a number from 0 to 1 after R@10="),
        (("--min", "R@10=1.5"), 2, "expected a number from 0 to 1"),
        (("--min", "R@100=0.5", "-n", "20"), 2, "--limit 20 is too few to measure R@100"),
        (("--min", "R@10=0.5", "--profile", "balanced"), 2, "exclude each other"),
        (("--min", "R@10=0.5", "--option", "k9=1"), 1, "k9"),
    ],
)
def test_exit_codes(
    pgblend: Pgblend, db: Database, required: tuple[str, ...], code: int, said: str
) -> None:
    result = pgblend(*GATE, *required)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.stderr.split())


def test_what_it_tells(pgblend: Pgblend, db: Database, parse_valid: Any) -> None:
    result = pgblend(*GATE, "--min", "R@10=0.4", "--min", "AP=0.9", "--json")
    assert result.exit_code == 6
    told = parse_valid(result, "eval-gate")
    assert (told["arm"], told["queries"], told["passed"]) == ("lexical", 2, False)
    assert told["checks"] == [
        {"name": "R@10", "value": 0.5, "least": 0.4, "most": None, "passed": True},
        {"name": "AP", "value": 0.5, "least": 0.9, "most": None, "passed": False},
    ]
    assert told["run_id"] == db.value("SELECT max(run_id) FROM evaluation_runs")
    shown = pgblend(*GATE, "--min", "R@10=0.4").stdout
    assert "at least 0.4" in shown


def test_searches_that_lack_a_stage_are_named(pgblend: Pgblend, db: Database) -> None:
    db.rows("SELECT set_setting('gateway_url', '\"http://127.0.0.1:9\"')")
    result = pgblend("eval", "gate", "--set", "mine", "--min", "R@10=0")
    assert result.exit_code == 0
    assert "2 of 2 searches went on without a stage" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alike", "least", "code"), [(True, "1", 0), (False, "0.01", 6), (False, "0", 0)]
)
def test_the_stability_of_expansions(
    pgblend: Pgblend,
    db: Database,
    gateway: GatewayProcess,
    model_provider: ModelProvider,
    alike: bool,
    least: str,
    code: int,
) -> None:
    """The gateway of the tests keeps no answers, so each is the model's own."""
    use_models(db, gateway, model_provider)
    numbers = itertools.count()
    model_provider.reply = lambda _: json.dumps(
        EXPANSION | {"hyde": f"Ships sail to a wine valley {0 if alike else next(numbers)}."}
    )
    result = pgblend(*GATE, "--min-stability", least, "--json")
    assert result.exit_code == code, result.output
    (check,) = json.loads(result.stdout)["checks"]
    assert (check["name"], check["value"]) == ("expansion_stability", 1 if alike else 0)


def test_stability_without_a_model_cannot_be_measured(pgblend: Pgblend, db: Database) -> None:
    result = pgblend(*GATE, "--min-stability", "1")
    assert result.exit_code == 5
    assert "expansion_model" in result.stderr
