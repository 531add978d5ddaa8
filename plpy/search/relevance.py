"""Which meaning relevance has in a search."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgblend.plpy.fusion.pool import ArmList
from pgblend.plpy.refine.priors import PRIORS, RANKED_BY, RANKING
from pgblend.plpy.refine.relevance import MOST_KNOWN, Curve, Scale, Signals
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.stages import Search
from pgblend.plpy.session import Json

_FIT = "pgblend calibrate fits a curve of a collection"


class Fit(NamedTuple):
    """What was fitted for a collection in a space (pgblend_data.calibration)."""

    space: str
    model: str
    mean: float
    deviation: float
    coefficients: Sequence[float] | None
    ranking: Mapping[str, Json] | None
    thresholds: Sequence[float | None] | None


def relevance_scale(search: Search, pool: Pool, has_vector: bool) -> Scale:
    """Return the best scale that is known; none without a query's vector.

    A curve of the only collection searched comes first, then that of the model, each where the
    lists are ranked as those that it was made of; then chance; else relevance is the cosine.
    """
    space, lists = search.space, pool.lists
    if space is None or not has_vector:
        return Scale(None)
    fit = known_fit(search.state.calibrations, space.name, space.model)
    signals = signals_of(pool) if is_plain(search, lists) else None
    if signals is not None:
        ranking = {name: getattr(search.settings, name) for name in RANKED_BY}
        if fit and fit.coefficients and fit.ranking == ranking:
            curve = Curve(*fit.coefficients)
            return Scale("calibrated", signals, curve, thresholds=fit.thresholds or ())
        if space.model in PRIORS and ranking == RANKING:
            return Scale("prior", signals, PRIORS[space.model])
    if fit:
        return Scale("p_value", signals, chance=(fit.mean, fit.deviation))
    return Scale("cosine", signals)


def known_fit(texts: Sequence[str], space: str, model: str) -> Fit | None:
    """Return what was fitted in a space; None where that has had another model since."""
    fits = (Fit(**json.loads(text)) for text in texts)
    return next((one for one in fits if (one.space, one.model) == (space, model)), None)


def is_plain(search: Search, lists: Sequence[ArmList]) -> bool:
    """Tell whether both arms gave all that they have, for the query as it stands."""
    arms = {one.arm for one in lists}
    is_whole = search.had_time and search.lexical_state.reach is None
    return is_whole and arms >= {"lexical", "vector"} and not search.plan.expands


def signals_of(pool: Pool) -> Signals:
    """Return what the lists say of how well the query is answered."""
    best = {one.arm: max(one.found.scores, default=0.0) for one in pool.lists}
    perfect = next((one.found.perfect for one in pool.lists if one.arm == "lexical"), None)
    first, second = ([pool.own_points[item] for item in pool.own_order[:2]] + [0.0, 0.0])[:2]
    known = next((one.known for one in pool.lists if one.arm == "lexical"), 0.0)
    words = best["lexical"] / (perfect or 1.0)
    return Signals(first, second, best["vector"], words, min(known, MOST_KNOWN))


def tell_ending(search: Search, ranking: Ranking, needed: int) -> None:
    """Name where a list does not end as it was asked; one row more than a page was `needed`."""
    settings, basis = search.settings, ranking.basis
    meant = {"cosine": f"is compared with cosines; {_FIT}", None: "has no vectors to go by"}
    for name in ("min_relevance", "abstain_below"):
        if getattr(settings, name) is not None and basis in meant:
            search.degraded.append(f"relevance: {name} {meant[basis]}")
    if settings.coverage is None:
        return
    coverage = f"coverage {settings.coverage:g}"
    if basis != "calibrated":
        told = f"{coverage} is not known where relevance is {basis}; {_FIT}"
    elif ranking.least_gain(settings.coverage) is None:
        told = f"no list holds the relevant passage of its judged queries so often as {coverage}"
    elif len(ranking.best) >= needed:
        told = f"the list of {coverage} has more rows than were asked for"
    else:
        return
    search.degraded.append(f"relevance: {told}")
