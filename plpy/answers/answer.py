"""A model's answer held to the passages that it cites, as one JSON document."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.answers.quotations import (
    answer_sentences,
    best_quotation,
    find_quotation,
    is_abstention,
)
from pgblend.plpy.answers.written_forms import (
    LINK,
    PICTURE,
    addresses,
    code_spans,
    has_addresses,
    normalized_words,
    options,
    plain_figures,
    shown_characters,
    stands_whole,
)

FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
LIST_MARK = re.compile(r"^[\s>*_]*(?:\d+[.)]|[-*•+\u2013])[*_]*\s+")
CONTENT_WORD = re.compile(r"[^\W\d_]{4,}")
# What a quotation must have to say something: so many letters and digits.
LEAST_QUOTED = 6
# Without a quotation, so much of a sentence's words must stand in the passages that it cites.
LEAST_SHARE = 0.5


def check_answer(
    answer: str, parts: Sequence[Mapping[str, Any]], questions: int = 0
) -> dict[str, Any]:
    """Return what of an answer, to a question of so many parts, its passages bear out.

    `parts` have citation (number) and text. A sentence is kept where it cites a passage that is
    there. Every quotation in it must stand word for word in a passage that it cites (see
    find_quotation). So must every figure. Each address and each piece of code (between backticks or
    fences, or an option of a command) must stand there whole. Beside that, a quotation of at least
    6 letters and digits must stand there, or half of its longer words. Addresses alone are no
    sentence. Everything else is dropped, with the reason: "no citation", "no such passage", "only
    an address", "quotation not found", "address not found", "code not found", "figure not found",
    "words not found".

    Returns answer, the kept sentences with [n] behind them, None where none is left. `abstained`
    says that the model found no answer, or nothing is left. `sentences` have text, citations,
    quotations, kept and reason. A quotation has citation, text and lines (within the passage, or
    None). `kept`, dropped, quotations and quotations_found say how many.
    """
    texts = {part["citation"]: str(part["text"]) for part in parts}
    sentences = [] if is_abstention(answer) else answer_sentences(answer, questions)
    checked = [checked_sentence(sentence, texts) for sentence in sentences]
    kept = [sentence for sentence in checked if sentence["kept"]]
    lines: dict[int, list[str]] = {}
    for sentence in kept:
        lines.setdefault(sentence["line"], []).append(cited_sentence(sentence))
    quotations = [quotation for sentence in checked for quotation in sentence["quotations"]]
    return {
        "answer": "\n".join(" ".join(line) for line in lines.values()) or None,
        "abstained": not kept,
        "sentences": [
            {
                name: value
                for name, value in sentence.items()
                if name not in ("line", "is_code") and (questions or name != "question")
            }
            for sentence in checked
        ],
        "kept": len(kept),
        "dropped": len(checked) - len(kept),
        "quotations": len(quotations),
        "quotations_found": sum(quotation["lines"] is not None for quotation in quotations),
    }


def checked_sentence(sentence: Mapping[str, Any], texts: Mapping[int, str]) -> dict[str, Any]:
    """Return a sentence with its quotations looked up, and whether it is kept."""
    citations = [number for number in sentence["citations"] if number in texts]
    quotations = []
    for number, words in sentence["quotations"]:
        looked_at = citations if number is None else [number] if number in texts else []
        found = {at: place for at in looked_at if (place := find_quotation(words, texts[at]))}
        at = next(iter(found), number)
        lines = None if at is None or at not in found else list(found[at])
        quotations.append({"citation": at, "text": words, "lines": lines})
    reason = _problem(sentence, citations, quotations, texts)
    return {
        "text": sentence["text"], "citations": citations, "quotations": quotations,
        "kept": reason is None, "reason": reason,
        **{name: sentence[name] for name in ("line", "is_code", "question")},
    }  # fmt: skip


def _problem(
    sentence: Mapping[str, Any],
    citations: Sequence[int],
    quotations: Sequence[Mapping[str, Any]],
    texts: Mapping[int, str],
) -> str | None:
    """Return why a sentence is dropped, None where it is kept."""
    text = str(sentence["text"])
    if not sentence["citations"] or not _letters(text):
        return "no citation"
    if not citations:
        return "no such passage"
    if not sentence["is_code"] and not _letters(_without_addresses(text)):
        return "only an address"
    if any(quotation["lines"] is None for quotation in quotations):
        return "quotation not found"
    passages = [texts[number] for number in citations]
    if not has_addresses(text, passages):
        return "address not found"
    spans = [text] if sentence["is_code"] else [*code_spans(text), *options(text)]
    if any(not _stands_in(span, passages, is_code=True) for span in spans):
        return "code not found"
    told = normalized_words(plain_figures("\n".join(passages)))
    claim = normalized_words(plain_figures(LIST_MARK.sub("", text)))
    if any(
        not _figures(shown(claim)) <= _figures(shown(told)) for shown in (str, shown_characters)
    ):
        return "figure not found"
    if any(_letters(quotation["text"]) >= LEAST_QUOTED for quotation in quotations):
        return None
    words = {word.casefold() for word in CONTENT_WORD.findall(claim)}
    there = {word.casefold() for word in CONTENT_WORD.findall(told)}
    if not words or len(words & there) < LEAST_SHARE * len(words):
        return "words not found"
    return None


def _without_addresses(text: str) -> str:
    """Return a sentence without its list mark, pictures, links and addresses."""
    text = LINK.sub(" ", PICTURE.sub(" ", LIST_MARK.sub("", text)))
    for address in addresses(text):
        text = text.replace(address, " ", 1)
    return text


def _stands_in(piece: str, passages: Sequence[str], *, is_code: bool = False) -> bool:
    return any(stands_whole(piece, passage, is_code=is_code) for passage in passages)


def _figures(text: str) -> set[str]:
    return {*FIGURE.findall(text)}


def _letters(text: str) -> int:
    return sum(character.isalnum() for character in unicodedata.normalize("NFKC", text))


def cited_sentence(sentence: Mapping[str, Any]) -> str:
    """Write a kept sentence with the numbers of its passages, before its full stop."""
    text = str(sentence["text"])
    body = text.rstrip(".!?…。\uff01\uff1f")
    marks = "".join(f"[{number}]" for number in sentence["citations"])
    return f"{body.rstrip()} {marks}{text[len(body) :] or '.'}"


_FOUND = ("query", "mode", "queryLanguage", "results", "degraded")
_DESCRIBED = ("citation", "document_id", "uri", "title", "collection", "source_key", "pages")


def ask_document(found: Mapping[str, Any], reply: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return {query, mode, queryLanguage, answer, citations, results, meta, checks, degraded}.

    `found` is what _ask_passages gives: query, mode, queryLanguage, parts, results, meta, abstains,
    questions, degraded;
    `reply` what the model said: model, text, finish_reason; None where none was asked. The answer
    is what check_answer leaves of it, None where nothing is left. A citation has citation (its
    number), docid (# and the document's id in hexadecimal), document_id, uri, title, collection,
    startLine, endLine, pages, quote, quoteLines, isCited and isChecked. The quote is word for word
    from the passage. isChecked: it bears out a sentence of the answer. Else it is the passage's
    sentence nearest to the question. Cited ones come first. Where the question was split, questions
    has question, citations and hasEvidence of each part.
    """
    parts, questions = found["parts"], found.get("questions") or []
    checks = None if reply is None else check_answer(str(reply["text"]), parts, len(questions))
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
        **{name: found[name] for name in _FOUND},
        "answer": checks["answer"] if checks else None,
        "citations": citations,
        **({"questions": _evidence(questions, parts, checks)} if questions else {}),
        "meta": {
            **found["meta"],
            "answerModel": reply["model"] if reply else None,
            "abstained": checks["abstained"] if checks else found.get("abstains", False),
            "answerCut": bool(reply and reply["finish_reason"] == "length"),
        },
        "checks": checks
        and {name: value for name, value in checks.items() if name not in ("answer", "abstained")},
    }


def _evidence(
    questions: Sequence[str],
    parts: Sequence[Mapping[str, Any]],
    checks: Mapping[str, Any] | None,
) -> list[dict[str, Any]]:
    """Return {question, citations, hasEvidence} of each sub-question.

    Without an answer evidence are the passages that were found for it. With one they are those that
    bear out what is said of it. Their numbers (#1:) say which sentences that is. Of an answer
    without numbers the passages that they cite say so.
    """
    found = [
        [part["citation"] for part in parts if text in part.get("answers", ())]
        for text in questions
    ]
    if checks is not None:
        kept = [sentence for sentence in checks["sentences"] if sentence["kept"]]
        is_numbered = any(sentence["question"] for sentence in checks["sentences"])
        found = [
            [
                citation
                for sentence in kept
                for citation in sentence["citations"]
                if (sentence["question"] == number if is_numbered else citation in of_question)
            ]
            for number, of_question in enumerate(found, 1)
        ]
    return [
        {"question": text, "citations": list(dict.fromkeys(cited)), "hasEvidence": bool(cited)}
        for text, cited in zip(questions, found, strict=True)
    ]


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
        **{name: part[name] for name in _DESCRIBED},
        "docid": f"#{part['document_id']:06x}",
        "startLine": start,
        "endLine": end,
        "quote": quote,
        "quoteLines": place,
        "isCited": is_cited,
        "isChecked": bool(quotations),
    }
