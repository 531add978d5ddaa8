"""Why a document is or is not among the results of a search."""

from collections.abc import Iterator, Mapping, Sequence
from math import floor
from typing import Any

from pgblend.plpy.base.session import Database
from pgblend.plpy.base.settings import write_json
from pgblend.plpy.search.diagnosis_facts import Call, gathered_facts
from pgblend.plpy.search.store import StorePort

# Whether a document can be a candidate of a search, and which arms have it among theirs.

Finding = dict[str, Any]  # stage, passed, finding, details
Loss = tuple[Finding, str]  # and what to do


def finding(stage: str, passed: bool | None, text: str, /, **details: Any) -> Finding:
    """Return what was found of a document at a stage; `passed` is None where it did not run."""
    return {"stage": stage, "passed": passed, "finding": text, "details": details}


def diagnose_conditions(
    facts: Mapping[str, Any],
) -> tuple[list[Finding], str | None, str | None]:
    """Check existence, collection, language, filter and operators, in the order of a search.

    `facts` has what gathered_facts gives: document, collections, settings, failed_conditions (None
    without a filter), operators (None without any). Returns the findings up to the first that
    fails, with its sentence as the verdict and a suggestion. Both None where all hold.
    """
    findings: list[Finding] = []
    for checked, suggestion in _checks(facts):
        findings.append(checked)
        if not checked["passed"]:
            return findings, checked["finding"], suggestion
    return findings, None, None


def _checks(facts: Mapping[str, Any]) -> Iterator[Loss]:
    yield _existence(facts["document"])
    yield _collection(facts["document"], facts["collections"])
    if facts["settings"].get("language") is not None:
        yield _language(facts["document"], facts["settings"]["language"])
    if facts["failed_conditions"] is not None:
        yield _filter(facts["failed_conditions"])
    if facts.get("hidden"):
        yield _hidden(facts["hidden"])
    if facts["operators"] is not None:
        yield _operators(facts["operators"])


def _existence(document: Mapping[str, Any] | None) -> Loss:
    if document is None:
        text = "There is no such document, or you may not read it."
        failed = finding("document", False, text)
        return failed, "Look for its id, source key or URI in blend.documents."
    passages = document["passages"]
    if passages == 0:
        failed = finding("document", False, "It has no passages: its text is empty.")
        return failed, "Ingest it with text."
    count = f"{passages} passage{'' if passages == 1 else 's'}"
    return finding("document", True, f"It is there, with {count}.", passages=passages), ""


def _collection(document: Mapping[str, Any], searched: list[str]) -> Loss:
    own = document["collection"]
    if own in searched:
        return finding("collection", True, f'Its collection "{own}" is searched.'), ""
    failed = finding(
        "collection", False, f'Its collection "{own}" is not searched.', searched=searched
    )
    return failed, f'Search the collection "{own}" too.'


def _language(document: Mapping[str, Any], wanted: str) -> Loss:
    own = document["language"]
    if own == wanted:
        return finding("language", True, f"Its language is {own}, as asked for."), ""
    failed = finding("language", False, f"Its language is {own}, and only {wanted} is searched.")
    return failed, f"Leave out the option language, or set it to {own}."


def _filter(failing: list[str]) -> Loss:
    if not failing:
        return finding("filter", True, "It passes the filter."), ""
    failed = finding(
        "filter", False, f"It fails the filter's {' and '.join(failing)}.", failed=failing
    )
    return failed, "Leave that condition out, or change what the document says there."


def _hidden(pattern: str) -> Loss:
    failed = finding("rules", False, f'A rule hides it for queries like "{pattern}".')
    return failed, "Take it out of the setting hidden."


def _operators(operators: Mapping[str, Any]) -> Loss:
    parts = [f'"{phrase}"' for phrase in operators["phrases"]]
    parts += [f"-{word}" for word in operators["excluded"]]
    told = " ".join(parts)
    if operators["held"]:
        return finding("operators", True, f"It satisfies the query's {told}."), ""
    failed = finding("operators", False, f"No passage of it satisfies the query's {told}.")
    return failed, "Take the quotes and the minus signs out of the query."


Arm = Mapping[str, Any]
_MOST_DEPTH = 10_000  # the largest candidate_depth
# In the order in which they are told: a JSON object has none.
_BY = {"lexical": "by words", "vector": "by vectors", "fuzzy": "by corrected words"}


def diagnose_arms(
    facts: Mapping[str, Any],
) -> tuple[list[Finding], str | None, str | None]:
    """Say for each arm which rank the document has and whether that is within the cut.

    `facts` has what gathered_facts gives: arms (see arm_facts), candidates (the document's in the
    pool), and the settings. Returns a finding for each arm. It has a verdict and a suggestion where
    no arm has the document among its candidates, else None for both.
    """
    arms, settings = facts["arms"], facts["settings"]
    # A literal profile asks its arms for a multiple of the limit instead.
    literal = settings.get("over_fetch", {}).get("factor", 0) > 0
    depth = None if literal else settings["candidate_depth"]
    findings = []
    for name in sorted(arms, key=lambda name: (*_BY, name).index(name)):
        arm = arms[name]
        passed, text = _place_in_arm(name, arm, depth)
        details = {key: value for key, value in arm.items() if value is not None}
        findings.append(finding(name, passed, text, **details))
    if facts["candidates"]:
        return findings, None, None
    told = [one["finding"][:-1] for one in findings if one["passed"] is False]
    reasons = ". ".join(told)
    verdict = f"No arm has it among its candidates: {reasons[:1].lower()}{reasons[1:]}."
    if not told:
        verdict = "No arm ran that could find it."
    return [*findings, finding("candidates", False, verdict)], verdict, _suggestion(arms, depth)


def _place_in_arm(name: str, arm: Arm, depth: int | None) -> tuple[bool | None, str]:
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
        return "It has none of the corrected words"
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


# What became of a document's candidates, from fusion to the page.

_WEIGHED = {"lexical": "by words", "vector": "by vectors"}


def diagnose_lift(best: Mapping[str, Any], facts: Mapping[str, Any], end: int) -> list[str]:
    """Return sentences that say what would move a passage towards the first `end` places.

    `best` is a candidate with its `places` and `facts` is what gathered_facts gives. They name
    stages that moved it off the page and arms that have it there. They name words that it lacks,
    and a missing vector.
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
        lifts.append(f"It would rank higher if it had these words of the query: {words}.")
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


def diagnosis(db: Database, call: Call, store: StorePort) -> str:
    """Return as JSON what search_diagnose tells: stages end where the document is lost."""
    facts = gathered_facts(db, call, store)
    stages: list[dict[str, Any]] = []
    for diagnose in (diagnose_conditions, diagnose_arms, diagnose_places):
        findings, verdict, suggestion = diagnose(facts)
        stages += findings
        if verdict is not None:
            break
    last = stages[-1]
    return write_json(
        {
            "query": call.query,
            "document": facts["document"],
            "stages": stages,
            "lost_at": None if last["passed"] else last["stage"],
            "verdict": verdict,
            "suggestion": suggestion,
        }
    )
