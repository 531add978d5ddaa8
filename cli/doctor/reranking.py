"""Does reranking gain, on the judged sets that were run with and without it?"""

from collections.abc import Iterator

from pgblend.cli.database import Connection, fetch_value
from pgblend.cli.doctor.check import Check
from pgblend.cli.extras import missing

_MODEL = "SELECT blend.get_setting('rerank_model') #>> '{}'"
_HAS_SETS = "SELECT EXISTS (SELECT FROM blend.judged_sets AS j WHERE j.judged_queries > 0)"


def reranking(connection: Connection) -> Iterator[Check]:
    """Say where reranking gains and where it costs, by the newest runs of each set and profile."""
    if missing("eval"):
        return
    from pgblend.cli.evaluate.compare import compare  # numpy is of the extra
    from pgblend.cli.evaluate.reranking import METRIC, reranking_runs, told_verdict

    model = fetch_value(connection, _MODEL)
    has_runs = False
    for without, reranked in reranking_runs(connection):
        has_runs = True
        verdict = compare(connection, without, reranked, METRIC)["reranking"]
        name = f"reranking of {verdict['set']} by {verdict['profile']}"
        loses = verdict["verdict"] == "loses"
        mend = "leave it out (pgblend config set rerank off), or try another rerank model"
        yield Check(
            name, "warning" if loses else "ok", told_verdict(verdict), mend if loses else ""
        )
    if model is not None and not has_runs and fetch_value(connection, _HAS_SETS):
        how = "run: pgblend eval run, and again with --option rerank=off"
        yield Check("reranking", "ok", f"whether {model} gains is not known ({how})")


CHECKS = (reranking,)
