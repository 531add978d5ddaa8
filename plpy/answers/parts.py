"""The parts of a context, written out in their order, and where each comes from."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

# Definitions before what refers to them.
STRUCTURE = ("signature", "code", "doc", "metadata")


def context_parts(
    assembled: Mapping[str, Any],
    hits: Sequence[Mapping[str, Any]],
    documents: Mapping[int, Mapping[str, Any]],
    order: str,
) -> list[dict[str, Any]]:
    """Return the parts of what assemble_context took, numbered for citations from 1.

    `order`: score (then structure: signature, code, doc, metadata), structure (then score), or
    document: each file in its own order, the best first. Ties go by document and place. A part has
    citation, document_id, collection, uri, title, source_key, chunk_ids. It has spans, pages, kind,
    text, context, tokens, is_cut, score, relevance, arm and reason. Context is what table rows are
    to be read with, where the text lacks it, else "". Spans are [first line, last line], none where
    lines are not known. Kind is that of its best passage, arm the one that ranked it best. Tokens
    include one for what divides it from the next. What answers sub-questions has them in answers.
    """
    best_of: dict[int, float] = {}
    for part in assembled["parts"]:
        score = max((hits[place]["score"] for place in part["hits"]), default=0.0)
        best_of[part["document_id"]] = max(best_of.get(part["document_id"], 0.0), score)
    written = [
        _written(part, assembled["taken"], hits, documents, best_of[part["document_id"]])
        for part in assembled["parts"]
    ]
    keys = {
        "score": lambda part: (-part["score"], STRUCTURE.index(part["kind"]), part["place"]),
        "structure": lambda part: (STRUCTURE.index(part["kind"]), -part["score"], part["place"]),
        "document": lambda part: (-best_of[part["document_id"]], part["place"]),
    }
    written.sort(key=keys[order])
    return [
        {"citation": number, **{key: part[key] for key in part if key != "place"}}
        for number, part in enumerate(written, 1)
    ]


def _written(
    part: Mapping[str, Any],
    taken: Sequence[str | None],
    hits: Sequence[Mapping[str, Any]],
    documents: Mapping[int, Mapping[str, Any]],
    best_score: float,
) -> dict[str, Any]:
    """Return a part before it is numbered, with its `place`; best_score is its document's."""
    document, fragments = part["document_id"], part["fragments"]
    first, last = fragments[0], fragments[-1]
    # A run without a passage of its own was divided from one by max_part_tokens.
    best = hits[part["hits"][0]] if part["hits"] else None
    hit_chunks = (f[1] for f in fragments if best and f[1]["chunk_id"] == best["chunk_id"])
    chunk = next(hit_chunks, first[1])
    kind = chunk["kind"]
    ranked = _ranked_arms(best["arms"]) if best else []
    is_cut = any(taken[place] == "cut" for place in part["hits"])
    answers = [text for place in part["hits"] for text in hits[place].get("answers", ())]
    answers = list(dict.fromkeys(answers))
    text = "".join(gap + chunk["content"][start:end] for gap, chunk, start, end, _ in fragments)
    return {
        "document_id": document,
        **documents[document],
        "chunk_ids": list(dict.fromkeys(f[1]["chunk_id"] for f in fragments)),
        "spans": _span(first, last),
        "pages": sorted({page for f in fragments for page in f[1]["pages"] or ()}),
        "kind": kind,
        "text": text.rstrip() if kind == "code" else text.strip(),
        "context": lines_lacking(chunk.get("context"), text),
        "tokens": part["tokens"] + 1,
        "is_cut": is_cut,
        "score": best["score"] if best else best_score,
        "relevance": best["relevance"] if best else None,
        "arm": ranked[0][1] if ranked else None,
        "reason": _reason(ranked, part, is_cut, answers),
        **({"answers": answers} if answers else {}),
        "place": (document, first[1]["chunk_index"], first[2]),
    }


WORD = re.compile(r"\w+")


def lines_lacking(context: str | None, text: str) -> str:
    """Return the lines of a context that have a word which the text lacks."""
    if not context:
        return ""
    words = set(WORD.findall(text))
    lines = context.split("\n")
    return "\n".join(line for line in lines if not words.issuperset(WORD.findall(line)))


def _span(first: Sequence[Any], last: Sequence[Any]) -> list[list[int]]:
    """Return the lines of a run, where they are known."""
    (_, head, start, _, _), (_, tail, _, end, _) = first, last
    if head["start_line"] is None or tail["start_line"] is None:
        return []
    lead = len(head["content"][start:]) - len(head["content"][start:].lstrip())
    return [
        [
            head["start_line"] + head["content"].count("\n", 0, start + lead),
            tail["start_line"] + tail["content"][:end].rstrip().count("\n"),
        ]
    ]


def _ranked_arms(arms: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return ranks and names of the arms that ranked a passage, the best first."""
    return sorted((arm["rank"], name) for name, arm in arms.items() if "rank" in arm)


def _reason(
    ranked: Sequence[tuple[int, str]],
    part: Mapping[str, Any],
    is_cut: bool,
    answers: Sequence[str],
) -> str:
    """Say why a part is there: 'lexical #1, vector #3, 2 passages, text around it'."""
    found = [", ".join(f"{name} #{rank}" for rank, name in ranked) or "text around a passage"]
    if len(part["hits"]) > 1:
        found.append(f"{len(part['hits'])} passages")
    passages = Counter(fragment[1]["chunk_id"] for fragment in part["fragments"])
    if part["hits"] and len(passages) > len(part["hits"]):
        found.append("text around it")
    if is_cut:
        found.append("cut to the budget")
    found += [f"answers: {text}" for text in answers]
    return ", ".join(found)


def passage_label(part: Mapping[str, Any]) -> str:
    """Return 'docs/deploy.md:10-20, p. 3-4': URI or source key, lines, pages, as far as known."""
    label = " ".join(str(part["uri"] or part["source_key"]).split())
    if part["spans"]:
        start, end = part["spans"][0]
        label += f":{start}" if start == end else f":{start}-{end}"
    pages = part["pages"]
    if pages:
        label += f", p. {pages[0]}" + (f"-{pages[-1]}" if len(pages) > 1 else "")
    return label
