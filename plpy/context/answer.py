"""A model's answer held to the passages that it cites, as one JSON document."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.context.quotations import best_quotation, find_quotation, normalized_words

# [1], [1, 2], [1: "words"; 2: "other words"]: straight or typographic quotation marks.
QUOTED = r'(?:"[^\[\]]*?"|“[^”]*”|„[^“”]*[“”]|«[^»]*»)'
ONE = rf"\d{{1,4}}(?:\s*:\s*{QUOTED}(?:\s*,\s*{QUOTED})*)?"
CITATION = re.compile(rf"\[\s*{ONE}(?:\s*[,;]\s*{ONE})*\s*\]")
NUMBER = re.compile(rf"(\d{{1,4}})(?:\s*:\s*({QUOTED}(?:\s*,\s*{QUOTED})*))?")
QUOTATION = re.compile(QUOTED)
# Citations are put aside as one character each, which no text has.
FIRST_MARK = 0xF0000
MARKS = "[\U000f0000-\U000ffffd]"
# A citation behind the full stop belongs before it.
BEHIND_STOP = re.compile(rf"([.!?…。\uff01\uff1f]+)((?:[ \t]*{MARKS})+)")
BOUNDARY = re.compile(
    rf"(?<=[.!?…])[ \t]+(?=[^\sa-zà-ÿ])|(?<=[。\uff01\uff1f])|(?<={MARKS})[ \t]+(?=[A-ZÀ-Þ])"
)
# Shorter pieces without a citation are list marks, abbreviations, initials of what follows.
LEAST_WORDS = 3


LABEL = re.compile(r"[\s*_-]*#([1-9])[\s*_]*[:.)]?[\s*_]*")


def answer_sentences(answer: str, questions: int = 0) -> list[dict[str, Any]]:
    """Return the sentences of an answer: text (without citations), citations, quotations, line.

    `citations` are the passage numbers, each once; `quotations` are (passage number, words), and
    (None, words) for quotation marks in the sentence itself; `line` counts the answer's lines. A
    citation belongs to the sentence that it stands in or right behind. What looks like one but is
    not, such as one that was cut off, stays text. Of a question of so many parts, `question` is the
    number that the line, or one above it, begins with (#1:), None without one.
    """
    cited: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        cited.append(match.group())
        return chr(FIRST_MARK + len(cited) - 1)

    text = CITATION.sub(put_aside, re.sub(MARKS, "", answer))
    text = BEHIND_STOP.sub(r"\2\1", text)
    sentences = []
    question = None
    for number, line in enumerate(text.split("\n")):
        label = LABEL.match(line)
        if label and int(label[1]) <= questions:
            question, line = int(label[1]), line[label.end() :]
            if _is_abstention(line):
                continue
        begun, of_line = "", {"line": number, "question": question}
        for piece in BOUNDARY.split(line.strip()):
            begun = f"{begun} {piece}".strip()
            if len(begun.split()) >= LEAST_WORDS or re.search(MARKS, begun):
                sentences.append(_sentence(begun, cited) | of_line)
                begun = ""
        if begun:
            sentences.append(_sentence(begun, cited) | of_line)
    return sentences


def _is_abstention(answer: str) -> bool:
    """Tell whether the model says that it found no answer."""
    return " ".join(answer.split()).strip(" .\"'*").casefold() == ABSTAINED_ANSWER


def _sentence(text: str, cited: list[str]) -> dict[str, Any]:
    """Take the citations out of a sentence."""
    citations: dict[int, None] = {}
    quotations: list[tuple[int | None, str]] = []
    for mark in re.findall(MARKS, text):
        for number, quoted in NUMBER.findall(cited[ord(mark) - FIRST_MARK][1:-1]):
            citations[int(number)] = None
            quotations += [(int(number), words[1:-1]) for words in QUOTATION.findall(quoted)]
    text = " ".join(re.sub(rf"\s*{MARKS}", "", text).split())
    quotations += [(None, words[1:-1]) for words in QUOTATION.findall(text)]
    return {"text": text, "citations": list(citations), "quotations": quotations}


ABSTAINED_ANSWER = "no answer"
FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
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
    normalized_words), and so must every figure. Beside that, a quotation of at least 6 letters and
    digits must stand there, or half of its longer words. Everything else is dropped, with the
    reason: "no citation", "no such passage", "quotation not found", "figure not found", "words not
    found".

    Returns answer, the kept sentences with [n] behind them, None where none is left. abstained: the
    model found no answer, or nothing is left. sentences have text, citations, quotations, kept and
    reason, a quotation citation, text and lines (within the passage, or None). kept, dropped,
    quotations and quotations_found say how many.
    """
    texts = {part["citation"]: str(part["text"]) for part in parts}
    sentences = [] if _is_abstention(answer) else answer_sentences(answer, questions)
    checked = [_checked(sentence, texts) for sentence in sentences]
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
                if name != "line" and (questions or name != "question")
            }
            for sentence in checked
        ],
        "kept": len(kept),
        "dropped": len(checked) - len(kept),
        "quotations": len(quotations),
        "quotations_found": sum(quotation["lines"] is not None for quotation in quotations),
    }


def _checked(sentence: Mapping[str, Any], texts: Mapping[int, str]) -> dict[str, Any]:
    """Return a sentence with its quotations looked up, and whether it is kept."""
    citations = [number for number in sentence["citations"] if number in texts]
    quotations = []
    for number, words in sentence["quotations"]:
        looked_at = citations if number is None else [number] if number in texts else []
        found = {at: place for at in looked_at if (place := find_quotation(words, texts[at]))}
        at = next(iter(found), number)
        lines = None if at is None or at not in found else list(found[at])
        quotations.append({"citation": at, "text": words, "lines": lines})
    reason = _problem(sentence["text"], sentence["citations"], citations, quotations, texts)
    return {
        "text": sentence["text"], "citations": citations, "quotations": quotations,
        "kept": reason is None, "reason": reason,
        "line": sentence["line"], "question": sentence["question"],
    }  # fmt: skip


def _problem(
    text: str,
    named: Sequence[int],
    citations: Sequence[int],
    quotations: Sequence[Mapping[str, Any]],
    texts: Mapping[int, str],
) -> str | None:
    """Return why a sentence is dropped, None where it is kept."""
    if not named:
        return "no citation"
    if not citations or not any(character.isalnum() for character in text):
        return "no such passage" if not citations else "no citation"
    if any(quotation["lines"] is None for quotation in quotations):
        return "quotation not found"
    told = normalized_words("\n".join(texts[number] for number in citations))
    claim = re.sub(r"^(?:\d+[.)]|[-*•])\s+", "", normalized_words(text))
    figures = set(FIGURE.findall(told))
    if any(figure not in figures for figure in FIGURE.findall(claim)):
        return "figure not found"
    if any(_letters(quotation["text"]) >= LEAST_QUOTED for quotation in quotations):
        return None
    words = {word.casefold() for word in CONTENT_WORD.findall(claim)}
    there = {word.casefold() for word in CONTENT_WORD.findall(told)}
    if not words or len(words & there) < LEAST_SHARE * len(words):
        return "words not found"
    return None


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

    Without an answer evidence are the passages that were found for it. With one they are those
    that bear out what is said of it; which sentences that are their numbers say (#1:), or, of an
    answer without numbers, the passages that they cite.
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
