"""What became of a document's candidates, from fusion to the page."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

from pgblend.plpy.explain.candidates import Finding, finding

_WEIGHED = {"lexical": "by words", "vector": "by vectors"}


def diagnose_lift(best: Mapping[str, Any], facts: Mapping[str, Any], end: int) -> list[str]:
    """Return sentences that say what would move a passage towards the first `end` places.

    `best` is a candidate with its `places` and `facts` is what gathered_facts gives. They name
    stages that moved it off the page, arms that have it on the page, words that it lacks, and a
    missing vector.
    """
    arms, places = facts["arms"], best["places"]
    stages = [
        ("blend", "Leave out reranking, or give it less weight in blend"),
        ("mmr", "Raise mmr.lambda"),
    ]
    lifts = []
    for stage, advice in stages:
        before = _place_before(stage, places)
        if before is not None and before <= end < places[stage]:
            lifts.append(f"{advice}: its place was {before} before.")
    for name, by in _WEIGHED.items():
        rank = arms.get(name, {}).get("rank")
        if rank is not None and rank <= end and _others_ran(name, arms):
            lifts.append(f"Raise weights.{name}: its rank {by} is {rank}.")
    lacking = arms.get("lexical", {}).get("lacking")
    if lacking:
        words = ", ".join(f'"{word}"' for word in lacking)
        lifts.append(f"Words of the query that it lacks would bring it up: {words}.")
    if arms.get("vector", {}).get("waiting"):
        lifts.append("It has no vector yet, which would bring it up.")
    return lifts


def _place_before(stage: str, places: Mapping[str, int]) -> int | None:
    """Return the place that it had when the stage began; None where the stage did not run."""
    if stage not in places:
        return None
    earlier = ("blend",) if stage == "mmr" else ()
    return next((places[name] for name in (*earlier, "dedup", "fuse") if name in places), None)


def _others_ran(name: str, arms: Mapping[str, Any]) -> bool:
    """Tell whether the arm's weight counts against that of another."""
    return any(arm.get("ran") for other, arm in arms.items() if other != name)


Facts = Mapping[str, Any]
Candidate = Mapping[str, Any]
Outcome = tuple[list[Finding], str, str | None]
# Stages that give the pool no places of their own; the page is looked at last.
_WITHOUT_PLACES = {"warm_up", "expand", "router", "embed", "strong_signal", "page", "fetch"}
_DROPPED = {
    "content": 'It has the same text as "{of}", which stands before it.',
    "overlap": 'It overlaps with "{of}", which stands before it.',
    "similar": 'It says nearly the same as "{of}", which stands before it.',
    "per_document": "Better passages of its document fill per_document.",
}
_KEEP = {"per_document": "Raise per_document, or leave it out."}


def diagnose_places(facts: Facts) -> Outcome:
    """Follow the passage of the document that comes furthest; there is always a verdict.

    `facts` has what gathered_facts gives: stages, candidates (at least one),
    start (results before the page), result_limit, and the settings. Findings end where the
    passage is lost; the suggestion is None for a result on the page.
    """
    names = [stage["name"] for stage in facts["stages"] if _gives_places(stage, facts["arms"])]
    best = min(facts["candidates"], key=lambda candidate: _progress(candidate, [*names, "page"]))
    findings: list[Finding] = []
    for name in names:
        place = best["places"].get(name)
        if place is None:
            dropped = best.get("dropped") or {}
            reason = dropped.get("reason", "")
            if reason == "coverage":
                verdict = f"The list of coverage {facts['settings'][reason]:g} ends before it."
                return _lost(findings, reason, verdict, "Raise coverage, or leave it out.", {})
            if reason in ("min_score", "min_relevance"):
                return _below_minimum(findings, best, facts)
            verdict = _DROPPED.get(reason, f"The stage {name} left it out.").format_map(dropped)
            suggestion = _KEEP.get(reason, "Turn dedup off to keep it." if reason else None)
            return _lost(findings, name, verdict, suggestion, dropped)
        text = f"Its place after {name} is {place}."
        findings.append(finding(name, True, text, place=place))
    if "page" not in best["places"]:
        return _below_minimum(findings, best, facts)
    return _page(findings, best, facts)


def _gives_places(stage: Mapping[str, Any], arms: Mapping[str, Any]) -> bool:
    name = stage["name"]
    is_list = name in arms or name == "hyde" or "_variant_" in name  # those of an expanded query
    return not (stage.get("skipped") or is_list or name in _WITHOUT_PLACES)


def _progress(candidate: Candidate, names: Sequence[str]) -> tuple[int, int]:
    """Order candidates: the one that came furthest first, of those the one in front."""
    reached = [number for number, name in enumerate(names) if name in candidate["places"]]
    last = max(reached, default=-1)
    return -last, candidate["places"][names[last]] if reached else 0


def _page(findings: list[Finding], best: Candidate, facts: Facts) -> Outcome:
    place, start, limit = best["places"]["page"], facts["start"], facts["result_limit"]
    depth = facts["settings"]["candidate_depth"]
    details = {"place": place, "score": best["score"]}
    if place > depth:
        verdict = f"Its place is {place}, and candidate_depth {depth} is the last one shown."
        return _lost(findings, "page", verdict, f"Raise candidate_depth to {place}.", details)
    if start < place <= start + limit:
        verdict = f"It is result {place}."
        return [*findings, finding("page", True, verdict, **details)], verdict, None
    if limit == 0:
        verdict = f"It is result {place}, and no results were asked for."
        return _lost(findings, "page", verdict, f"Ask for {place} results.", details)
    page = (place - 1) // limit + 1
    offset = f"offset {(page - 1) * limit}"
    details |= {"page": page}
    if place <= start:
        verdict = f"Its place is {place}, and the page begins at {start + 1}."
        return _lost(findings, "page", verdict, f"Ask for {offset}.", details)
    verdict = f"Its place is {place}, and the page ends at {start + limit}."
    lifts = diagnose_lift(best, facts, start + limit)
    more = f"Ask for {place - start} results, or for {offset}."
    return _lost(findings, "page", verdict, " ".join([*lifts, more]), details)


def _below_minimum(findings: list[Finding], best: Candidate, facts: Facts) -> Outcome:
    settings, score = facts["settings"], best["score"]
    if score < settings["min_score"]:
        verdict = f"Its score {score:.4g} is below min_score {settings['min_score']:g}."
        suggestion = f"Lower min_score to {_lower(score)}."
        return _lost(findings, "min_score", verdict, suggestion, {"score": score})
    least, relevance = settings["min_relevance"], best.get("relevance")
    if relevance is None:
        verdict = f"It has no relevance, and min_relevance asks for {least:g}."
        return _lost(findings, "min_relevance", verdict, "Leave out min_relevance.", {})
    verdict = f"Its relevance {relevance:.4g} is below min_relevance {least:g}."
    suggestion = f"Lower min_relevance to {_lower(relevance)}."
    return _lost(findings, "min_relevance", verdict, suggestion, {"relevance": relevance})


def _lost(
    findings: list[Finding],
    stage: str,
    verdict: str,
    suggestion: str | None,
    details: Mapping[str, Any],
) -> Outcome:
    return [*findings, finding(stage, False, verdict, **details)], verdict, suggestion


def _lower(value: float) -> str:
    """Round down to three digits, so that the value itself still passes."""
    return f"{floor(value * 1000) / 1000:g}"
