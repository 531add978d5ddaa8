"""The answer to a question as one JSON document."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.context.citations import check_answer
from pgblend.plpy.context.quotations import best_quotation


def ask_document(found: Mapping[str, Any], reply: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return {query, mode, queryLanguage, answer, citations, results, meta, checks, degraded}.

    `found` is what _ask_passages gives: query, mode, queryLanguage, parts, results, meta, degraded;
    `reply` what the model said: model, text, finish_reason; None where none was asked. The answer
    is what check_answer leaves of it, None where nothing is left. A citation has citation (its
    number), docid (# and the document's id in hexadecimal), document_id, uri, title, collection,
    startLine, endLine, pages, quote (word for word from the passage), quoteLines, isCited,
    isChecked (whether the quote bears out a sentence of the answer; else it is the passage's
    sentence nearest to the question). Cited ones come first.
    """
    parts = found["parts"]
    checks = None if reply is None else check_answer(str(reply["text"]), parts)
    borne_out: dict[int, list[Mapping[str, Any]]] = {}
    cited: dict[int, None] = {}
    for sentence in checks["sentences"] if checks else ():
        if sentence["kept"]:
            cited.update(dict.fromkeys(sentence["citations"]))
            for quotation in sentence["quotations"]:
                borne_out.setdefault(quotation["citation"], []).append(quotation)
    ordered = sorted(parts, key=lambda part: (part["citation"] not in cited, part["citation"]))
    citations = [
        _citation(found["query"], part, part["citation"] in cited, borne_out.get(part["citation"]))
        for part in ordered
    ]
    return {
        "query": found["query"],
        "mode": found["mode"],
        "queryLanguage": found["queryLanguage"],
        "answer": checks["answer"] if checks else None,
        "citations": citations,
        "results": found["results"],
        "meta": {
            **found["meta"],
            "answerModel": reply["model"] if reply else None,
            "abstained": checks["abstained"] if checks else False,
            "answerCut": bool(reply and reply["finish_reason"] == "length"),
        },
        "checks": checks
        and {name: value for name, value in checks.items() if name not in ("answer", "abstained")},
        "degraded": found["degraded"],
    }


def _citation(
    query: str,
    part: Mapping[str, Any],
    is_cited: bool,
    quotations: Sequence[Mapping[str, Any]] | None,
) -> dict[str, Any]:
    """Return a passage as a citation, with the words that say it."""
    if quotations:
        quote: str | None = quotations[0]["text"]
        lines: Sequence[int] | None = quotations[0]["lines"]
    else:
        best = best_quotation(query, part["text"])
        quote, lines = (best[0], best[1:]) if best else (None, None)
    start, end = part["spans"][0] if part["spans"] else (None, None)
    place = None
    if lines is not None and start is not None:
        place = [min(start + line, end) for line in lines]
    return {
        "citation": part["citation"],
        "docid": f"#{part['document_id']:06x}",
        "document_id": part["document_id"],
        "uri": part["uri"],
        "title": part["title"],
        "collection": part["collection"],
        "source_key": part["source_key"],
        "startLine": start,
        "endLine": end,
        "pages": part["pages"],
        "quote": quote,
        "quoteLines": place,
        "isCited": is_cited,
        "isChecked": bool(quotations),
    }
