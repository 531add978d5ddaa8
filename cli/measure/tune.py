"""Search settings chosen on one part of a judged set's queries, and measured on the other."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import optuna

from pgblend.cli.base.database import Connection, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.output import StartBar
from pgblend.cli.measure.arm_candidates import JudgedPool, is_tuned_on, mean_ndcg, ndcg, read_pools
from pgblend.cli.measure.compare import compare_paired
from pgblend.cli.measure.evaluation import RunRequest, evaluate
from pgblend.plpy.base.catalog import CATALOG, NORMALIZATION_METHODS

METRIC = "nDCG@10"
LEAST_QUERIES = 10
# Two-sided p from which on a trial's lead counts as luck.
MOST_CHANCE = 0.2
TUNED = ("fusion", "weights", "rrf_k", "normalization", "feedback", "bonus")
_IN_FORCE = "SELECT pgblend._search_settings('{}', %(profile)s, '{}')"
_VALUES = """
    SELECT jsonb_object_agg(e.query_key, e.ndcg_10)
    FROM blend.evaluation_queries AS e WHERE e.run_id = %(run)s
"""
_SAVE = "SELECT blend.set_profile(%(name)s, %(description)s, %(settings)s)"


@dataclass(frozen=True)
class TuneRequest:
    """What to tune on, from which profile on, how long, and where to save it.

    Of a set that was `learned` of clicks, what has no verdict does not count: it is no bad answer.
    """

    judged_set: str
    profile: str | None
    trials: int
    share: float
    seed: int
    save: str | None
    learned: bool = False
    collection: str | None = None  # where several have a set of the name


def tune(connection: Connection, request: TuneRequest, start_bar: StartBar) -> dict[str, Any]:
    """Choose settings on one part of the queries; return how they do on the other.

    The arms' candidates are fetched once and fused anew in each trial. What is reported comes from
    real searches, for queries that no trial has seen.
    """
    start = fetch_value(connection, _IN_FORCE, {"profile": request.profile})
    choices = {
        "fusion": CATALOG["fusion"].row()["allowed_values"],
        "method": NORMALIZATION_METHODS,
    }
    pools = _pools(connection, request, True, start, start_bar("Candidates", 1))
    if len(pools) < LEAST_QUERIES:
        raise UserError(
            f"judged set {request.judged_set!r} has {len(pools)} queries to tune on, "
            f"expected at least {LEAST_QUERIES}",
            hint="judge more queries, or raise --share",
        )
    found = search_settings(pools, start, choices, request, start_bar("Trials", request.trials))
    chosen = found if is_better(pools, start, start | found) else kept(start)
    measured = (
        _measure_again(connection, request, start, chosen, start_bar)
        if request.learned
        else {
            "start": _measure(connection, request, "hybrid", {}, start_bar),
            "tuned": _measure(connection, request, "hybrid", chosen, start_bar),
            "lexical": _measure(connection, request, "lexical", {}, start_bar),
            "vector": _measure(connection, request, "vector", {}, start_bar),
        }
    )
    keys = sorted(
        key for key in measured["tuned"] if not is_tuned_on(key, request.share, request.seed)
    )
    if not keys:
        raise UserError("no query was held back", hint="lower --share")
    values = {name: [of_run[key] for key in keys] for name, of_run in measured.items()}
    if request.save:
        description = f"Tuned on {len(pools)} queries of judged set {request.judged_set}."
        parameters = {
            "name": request.save,
            "description": description,
            "settings": json.dumps(chosen),
        }
        fetch_value(connection, _SAVE, parameters)
    return {
        "set": request.judged_set,
        "metric": METRIC,
        "tuned_on": {
            "queries": len(pools),
            "start": mean_ndcg(pools, start),
            "best_trial": mean_ndcg(pools, start | found),
            "tuned": mean_ndcg(pools, start | chosen),
        },
        "held_back": {
            "queries": len(keys),
            **{
                name: asdict(compare_paired(values[name], values["tuned"]))
                for name in ("start", "lexical", "vector")
            },
        },
        "settings": chosen,
        "saved_as": request.save,
    }


def search_settings(
    pools: list[JudgedPool],
    start: dict[str, Any],
    choices: dict[str, Any],
    request: TuneRequest,
    advance: Callable[[int], None],
) -> dict[str, Any]:
    """Return the best settings that optuna's trials found; the first trial is what is in force."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: optuna.Trial) -> float:
        advance(1)
        return mean_ndcg(pools, start | _suggest(trial, choices))

    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=request.seed)
    )
    study.enqueue_trial(_parameters_of(start))
    study.optimize(objective, n_trials=request.trials)
    return _suggest(optuna.trial.FixedTrial(study.best_params), choices)


def is_better(pools: list[JudgedPool], start: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether other settings beat those in force by more than chance, on the tuned part.

    The best of many trials always looks better on the queries that it was chosen on. With few of
    them that is mostly luck, and what is in force was chosen on more.
    """
    paired = compare_paired(
        [ndcg(pool, start) for pool in pools],
        [ndcg(pool, other) for pool in pools],
    )
    return paired.difference > 0 and paired.p_value < MOST_CHANCE


def kept(start: dict[str, Any]) -> dict[str, Any]:
    """Return the settings in force of those that are tuned."""
    return {name: start[name] for name in TUNED}


def _suggest(trial: Any, choices: dict[str, Any]) -> dict[str, Any]:
    """Name the settings of one trial."""
    fusion = trial.suggest_categorical("fusion", choices["fusion"])
    settings: dict[str, Any] = {
        "fusion": fusion,
        "weights": {
            "lexical": 1.0,
            "vector": round(trial.suggest_float("vector", 0.02, 50, log=True), 4),
        },
    }
    if fusion == "rrf":
        settings["rrf_k"] = round(trial.suggest_float("rrf_k", 1, 200, log=True), 1)
        settings["bonus"] = _suggest_bonus(trial)
        return settings
    settings["normalization"] = {"method": trial.suggest_categorical("method", choices["method"])}
    weight = round(trial.suggest_float("feedback", 0, 1), 3)
    settings["feedback"] = {"passages": 2 if weight else 0, "weight": weight}
    settings["bonus"] = {"kind": "none"}
    return settings


def _suggest_bonus(trial: Any) -> dict[str, Any]:
    kind = trial.suggest_categorical("bonus", ["none", "both_top", "tiers"])
    if kind == "none":
        return {"kind": kind}
    amount = round(trial.suggest_float("bonus_amount", 0.005, 0.3, log=True), 4)
    if kind == "both_top":
        depth = trial.suggest_int("bonus_depth", 1, 20)
        return {"kind": kind, "depth": depth, "amount": amount, "unit": "attainable"}
    tiers = [{"max_rank": 1, "amount": amount}, {"max_rank": 3, "amount": round(amount / 2.5, 4)}]
    return {"kind": kind, "tiers": tiers, "unit": "attainable"}


def _parameters_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Write settings in force as a trial's parameters, as near as the search space has them."""
    weights = settings["weights"]
    ratio = weights["vector"] / weights["lexical"] if weights["lexical"] else 50.0
    return {
        "fusion": settings["fusion"],
        "vector": min(max(ratio, 0.02), 50.0),
        "rrf_k": min(max(settings["rrf_k"], 1.0), 200.0),
        "method": settings["normalization"]["method"],
        "feedback": settings["feedback"]["weight"] if settings["feedback"]["passages"] else 0.0,
        "bonus": "none",
    }


def _pools(
    connection: Connection,
    request: TuneRequest,
    tuned_on: bool,
    start: dict[str, Any],
    advance: Callable[[int], None],
) -> list[JudgedPool]:
    """Return what the arms find for the queries that are tuned on, or for those held back."""
    pools = read_pools(
        connection,
        request.judged_set,
        lambda key: is_tuned_on(key, request.share, request.seed) == tuned_on,
        start,
        advance,
        request.collection,
    )
    return [replace(pool, only_judged=request.learned) for pool in pools]


def _measure_again(
    connection: Connection,
    request: TuneRequest,
    start: dict[str, Any],
    chosen: dict[str, Any],
    start_bar: StartBar,
) -> dict[str, dict[str, float]]:
    """Fuse what is held back in each way; return nDCG@10 by query key, of judged documents."""
    pools = _pools(connection, request, False, start, start_bar("Held back", 1))
    ways = {
        "start": start,
        "tuned": start | chosen,
        "lexical": start | {"weights": {"lexical": 1.0, "vector": 0.0}},
        "vector": start | {"weights": {"lexical": 0.0, "vector": 1.0}},
    }
    return {
        name: {pool.key: ndcg(pool, settings) for pool in pools} for name, settings in ways.items()
    }


def _measure(
    connection: Connection,
    request: TuneRequest,
    arm: str,
    options: dict[str, Any],
    start_bar: StartBar,
) -> dict[str, float]:
    """Run the whole set in one way; return nDCG@10 by query key."""
    profile = request.profile if arm == "hybrid" else None
    result = evaluate(
        connection,
        RunRequest(request.judged_set, arm, profile, options, 100, request.collection),
        lambda total: start_bar(f"Runs ({'tuned' if options else profile or arm})", total),
    )
    values: dict[str, float] = fetch_value(connection, _VALUES, {"run": result["run_id"]})
    return values
