"""Which arms of a search have a document among their candidates."""

from collections.abc import Mapping
from typing import Any

Arm = Mapping[str, Any]
_MOST_DEPTH = 10_000  # the largest candidate_depth
# In the order in which they are told: a JSON object has none.
_BY = {"lexical": "by words", "vector": "by vectors", "fuzzy": "by words put right"}


def diagnose_arms(
    facts: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], str | None, str | None]:
    """Say for each arm which rank the document has and whether that is within the cut.

    `facts` has what gathered_facts gives: arms (see arm_facts), candidates (the document's in the
    pool), and the settings. Returns a finding for each arm; a verdict and a suggestion where
    no arm has the document among its candidates, else None for both.
    """
    arms, settings = facts["arms"], facts["settings"]
    # A literal profile asks its arms for a multiple of the limit instead.
    literal = settings.get("over_fetch", {}).get("factor", 0) > 0
    depth = None if literal else settings["candidate_depth"]
    findings = []
    for name in sorted(arms, key=lambda name: (*_BY, name).index(name)):
        arm = arms[name]
        passed, text = _finding(name, arm, depth)
        details = {key: value for key, value in arm.items() if value is not None}
        findings.append({"stage": name, "passed": passed, "finding": text, "details": details})
    if facts["candidates"]:
        return findings, None, None
    told = [finding["finding"][:-1] for finding in findings if finding["passed"] is False]
    reasons = "; ".join(text[:1].lower() + text[1:] for text in told)
    verdict = f"No arm has it among its candidates: {reasons}."
    if not told:
        verdict = "No arm ran that could find it."
    lost = {"stage": "candidates", "passed": False, "finding": verdict, "details": {}}
    return [*findings, lost], verdict, _suggestion(arms, depth)


def _finding(name: str, arm: Arm, depth: int | None) -> tuple[bool | None, str]:
    by = _BY.get(name, f"by {name}")
    if not arm["ran"]:
        return None, f"It was not looked for {by}: {arm['reason']}."
    if arm["rank"] is None:
        return False, f"{_absence(name, arm)}."
    place = f"Its rank {by} is {arm['rank']} ({arm['measure']} {arm['score']:.4g})"
    if arm["is_candidate"]:
        return True, f"{place}."
    if arm["rank"] <= (arm["candidates"] if depth is None else depth):
        return False, f"{place}, but the approximate index missed it."
    limit = f"the {arm['candidates']} candidates" if depth is None else f"candidate_depth {depth}"
    cut = "" if arm["cut"] is None else f" ({arm['measure']} {arm['cut']:.4g})"
    return False, f"{place}, beyond {limit}{cut}."


def _absence(name: str, arm: Arm) -> str:
    """Say why an arm does not find a document at any depth."""
    if name == "vector":
        return "It has no vector yet" if arm["waiting"] else "It has no vector"
    if name == "fuzzy":
        return "It has none of the words that were put right"
    words = ", ".join(f'"{word}"' for word in arm["lacking"])
    if not words:
        return "The query has no words that count"
    return f"It has none of the words {words}" if "," in words else f"It lacks the word {words}"


def _suggestion(arms: Mapping[str, Arm], depth: int | None) -> str:
    ranks = [arm["rank"] for arm in arms.values() if arm["rank"] is not None]
    if ranks and depth is None:
        return "Ask for more results: this profile looks at a multiple of them (over_fetch)."
    if any(rank <= (depth or 0) for rank in ranks):
        return "Set vector_scan to exact, or raise ef_search."
    if ranks and min(ranks) <= _MOST_DEPTH:
        return f"Raise candidate_depth to {min(ranks)}."
    if ranks:
        return f"candidate_depth is at most {_MOST_DEPTH}: narrow the search down with a filter."
    if arms["vector"].get("waiting"):
        return "Run pgblend ingest with a model gateway, which makes its vector."
    return "Ask with words that it has."
