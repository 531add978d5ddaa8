"""Whether a document can be a candidate of a search at all."""

from collections.abc import Iterator, Mapping
from typing import Any

Finding = dict[str, Any]  # stage, passed, finding, details
Loss = tuple[Finding, str]  # and what to do


def diagnose_conditions(
    facts: Mapping[str, Any],
) -> tuple[list[Finding], str | None, str | None]:
    """Check existence, collection, language, filter and operators, in the order of a search.

    `facts` has what gathered_facts gives: document, collections, settings, failed_conditions
    (None without a filter), operators (None without any). Returns the findings up to the first
    that fails, with its sentence as the verdict and a suggestion; both None where all hold.
    """
    findings: list[Finding] = []
    for finding, suggestion in _checks(facts):
        findings.append(finding)
        if not finding["passed"]:
            return findings, finding["finding"], suggestion
    return findings, None, None


def _checks(facts: Mapping[str, Any]) -> Iterator[Loss]:
    yield _existence(facts["document"])
    yield _collection(facts["document"], facts["collections"])
    if facts["settings"].get("language") is not None:
        yield _language(facts["document"], facts["settings"]["language"])
    if facts["failed_conditions"] is not None:
        yield _filter(facts["failed_conditions"])
    if facts["operators"] is not None:
        yield _operators(facts["operators"])


def _existence(document: Mapping[str, Any] | None) -> Loss:
    stage = "document"
    if document is None:
        text = "There is no such document, or you may not read it."
        return _failed(stage, text), "Look for its id, source key or URI in blend.documents."
    passages = document["passages"]
    if passages == 0:
        return _failed(stage, "It has no passages: its text is empty."), "Ingest it with text."
    count = f"{passages} passage{'' if passages == 1 else 's'}"
    return _passed(stage, f"It is there, with {count}.", passages=passages), ""


def _collection(document: Mapping[str, Any], searched: list[str]) -> Loss:
    own = document["collection"]
    if own in searched:
        return _passed("collection", f'Its collection "{own}" is searched.'), ""
    finding = _failed("collection", f'Its collection "{own}" is not searched.', searched=searched)
    return finding, f'Search the collection "{own}" too.'


def _language(document: Mapping[str, Any], wanted: str) -> Loss:
    own = document["language"]
    if own == wanted:
        return _passed("language", f"Its language is {own}, as asked for."), ""
    finding = _failed("language", f"Its language is {own}, and only {wanted} is searched.")
    return finding, f"Leave out the option language, or set it to {own}."


def _filter(failed: list[str]) -> Loss:
    if not failed:
        return _passed("filter", "It passes the filter."), ""
    finding = _failed("filter", f"It fails the filter's {' and '.join(failed)}.", failed=failed)
    return finding, "Leave that condition out, or change what the document says there."


def _operators(operators: Mapping[str, Any]) -> Loss:
    parts = [f'"{phrase}"' for phrase in operators["phrases"]]
    parts += [f"-{word}" for word in operators["excluded"]]
    told = " ".join(parts)
    if operators["held"]:
        return _passed("operators", f"It satisfies the query's {told}."), ""
    finding = _failed("operators", f"No passage of it satisfies the query's {told}.")
    return finding, "Take the quotes and the minus signs out of the query."


def _passed(stage: str, finding: str, **details: Any) -> Finding:
    return {"stage": stage, "passed": True, "finding": finding, "details": details}


def _failed(stage: str, finding: str, **details: Any) -> Finding:
    return {"stage": stage, "passed": False, "finding": finding, "details": details}
