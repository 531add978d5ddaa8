"""Whether a document can be a candidate of a search, and which arms have it among theirs."""

from collections.abc import Iterator, Mapping
from typing import Any

Finding = dict[str, Any]  # stage, passed, finding, details
Loss = tuple[Finding, str]  # and what to do


def finding(stage: str, passed: bool | None, text: str, /, **details: Any) -> Finding:
    """Return what was found of a document at a stage; `passed` is None where it did not run."""
    return {"stage": stage, "passed": passed, "finding": text, "details": details}


def diagnose_conditions(
    facts: Mapping[str, Any],
) -> tuple[list[Finding], str | None, str | None]:
    """Check existence, collection, language, filter and operators, in the order of a search.

    `facts` has what gathered_facts gives: document, collections, settings, failed_conditions
    (None without a filter), operators (None without any). Returns the findings up to the first
    that fails, with its sentence as the verdict and a suggestion; both None where all hold.
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
_BY = {"lexical": "by words", "vector": "by vectors", "fuzzy": "by words put right"}


def diagnose_arms(
    facts: Mapping[str, Any],
) -> tuple[list[Finding], str | None, str | None]:
    """Say for each arm which rank the document has and whether that is within the cut.

    `facts` has what gathered_facts gives: arms (see arm_facts), candidates (the document's in
    the pool), and the settings. Returns a finding for each arm; a verdict and a suggestion where
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
    reasons = "; ".join(text[:1].lower() + text[1:] for text in told)
    verdict = f"No arm has it among its candidates: {reasons}."
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
