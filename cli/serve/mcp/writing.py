"""What an agent is told of each operation's JSON: our own words, and pieces of documents."""

import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pgblend.cli.ask.output import unanswered
from pgblend.cli.output import one_line
from pgblend.cli.serve.mcp.place import Place, docid, place_of_lines
from pgblend.cli.serve.mcp.quoting import Answer, Piece
from pgblend.cli.serve.problems import Problem

Found = dict[str, Any]
_EXPLAIN_WIDTH = 100


def passages(found: Found) -> Answer:
    """Tell the rows of a search."""
    pieces = [_row(row) for row in found["results"]]
    head = [f"{_count(len(pieces), 'passage')}, the best first"]
    searches = [row["details"].get("search_id") for row in found["results"][:1]]
    head += [f"search_id: {search_id}" for search_id in searches if search_id]
    return Answer(head, pieces, found["degraded"])


def context(found: Found) -> Answer:
    """Tell the parts of a context."""
    stats = found["stats"]
    head = [f"{_count(len(found['parts']), 'passage')} of {_count(stats['files'], 'document')}"]
    if stats["left_out"]:
        head.append(f"{stats['left_out']} more passages were found that did not fit max_tokens")
    return Answer(head, [_part(part) for part in found["parts"]], found["degraded"])


def answer(found: Found) -> Answer:
    """Tell an answer and its citations; where nothing bears one out, what was found."""
    citations = [c for c in found["citations"] if c["isCited"]]
    questions = unanswered(found)  # the model's own words, where it split the question
    missing = ["there is no evidence for a part of the question"] if questions else []
    parts = [Piece("without evidence", one_line(question)) for question in questions]
    if found["answer"] is None:
        head = [f"no answer: {_why_none(found)}; here is what was found", *missing]
        pieces = [*parts, *(_citation(c) for c in found["citations"])]
        return Answer(head, pieces, found["degraded"])
    head = [f"an answer, and {_count(len(citations), 'citation')} that [numbers] in it refer to"]
    if found["meta"]["answerCut"]:
        head.append("the model ran out of tokens: the answer may go on")
    head += missing
    pieces = [Piece("answer", found["answer"]), *parts, *map(_citation, citations)]
    return Answer(head, pieces, found["degraded"])


def document(found: Found, place: Place) -> Answer:
    """Tell a document, or what of it a place names."""
    about, chunks = found["document"], found["chunks"]
    if place.chunk_id:
        numbers = [chunk["chunk_id"] for chunk in chunks]
        if place.chunk_id not in numbers:
            detail = f"chunk {place.chunk_id} is not in document {docid(place.document_id)}"
            hint = f"take an id of an answer, or open {docid(place.document_id)} as a whole"
            raise Problem(404, "no-such-chunk", detail, hint=hint)
        chunks = chunks[numbers.index(place.chunk_id) :]
    head = [f"{place}: {len(chunks)} of {_count(about['chunks'], 'chunk')}, in their order"]
    pieces = [Piece("document", _about(about), {"id": docid(about["document_id"])})]
    pieces += [_chunk(chunk, is_first=index == 0) for index, chunk in enumerate(chunks)]
    return Answer(head, pieces, found["degraded"])


def explanation(found: Found) -> Answer:
    """Tell how a search came to its results, as `pgblend query --explain` shows it."""
    from rich.console import Console

    from pgblend.cli.explain.text import render_text
    from pgblend.cli.explain.trace import Trace

    console = Console(
        file=io.StringIO(), width=_EXPLAIN_WIDTH, highlight=False, markup=False, emoji=False
    )
    with console.capture() as capture:
        console.print(render_text(Trace.from_json(found)))
    text = "\n".join(line.rstrip() for line in capture.get().splitlines())
    return Answer(["how the search came to its rows"], [Piece("trace", text)], found["degraded"])


def collections(found: Found) -> Answer:
    """Tell the collections, each on a line."""
    rows = found["collections"]
    lines = [
        f"{one_line(row['name'])}: {_count(row['documents'], 'document')}, "
        f"{_count(row['chunks'], 'chunk')}, {row['text_search_config']}{_keys(row['keys'])}"
        for row in rows
    ]
    pieces = [Piece("collections", "\n".join(lines))] if rows else []
    return Answer([f"{_count(len(rows), 'collection')} to search"], pieces, found["degraded"])


def _keys(keys: dict[str, str]) -> str:
    told = ", ".join(one_line(f"{key} ({example})") for key, example in keys.items())
    return f"; metadata: {told}" if told else ""


def remembered(found: Found) -> Answer:
    """Tell where a text is."""
    is_new = found["status"] == "added"
    place = docid(found["document_id"])
    head = [f"stored as {place}" if is_new else f"nothing changed: it is there already, as {place}"]
    if is_new:
        head.append("it is found by its words at once, by its meaning once it has a vector")
    return Answer(head, [], found["degraded"])


def judged(found: Found) -> Answer:
    """Tell that a judgement is kept."""
    return Answer([f"noted, for judged query {found['judged_query']}"], [], found["degraded"])


def _why_none(found: Found) -> str:
    if found["checks"] is not None:
        return "the passages do not bear one out"
    has_failed = any(note.startswith("answer: ") for note in found["degraded"])
    return "the model failed" if has_failed else "no model was asked"


def _row(row: Found) -> Piece:
    place = place_of_lines(
        row["document_id"], [(row["start_line"], row["end_line"])], row["chunk_id"]
    )
    facts = {"id": place, "chunk_id": row["chunk_id"], **_scores(row)}
    around = [row["context_before"], row["content"], row["context_after"]]
    text = "\n".join(each for each in around if each)
    return Piece("passage", f"{_source(row)}\n\n{text}", facts)


def _part(part: Found) -> Piece:
    place = place_of_lines(part["document_id"], part["spans"], part["chunk_ids"][0])
    facts = {"id": place, "n": part["citation"], **_scores(part)}
    return Piece("passage", f"{_source(part)}\n\n{part['text']}", facts)


def _citation(citation: Found) -> Piece:
    lines = citation["startLine"], citation["endLine"]
    place = citation["docid"]
    if lines[0] is not None:
        place = place_of_lines(citation["document_id"], [lines], 0)
    quote = f"\n\n{citation['quote']}" if citation["quote"] else ""
    facts = {"id": place, "n": citation["citation"]}
    return Piece("citation", _source(citation) + quote, facts)


def _chunk(chunk: Found, is_first: bool) -> Piece:
    place = Place(chunk["document_id"], chunk_id=chunk["chunk_id"])
    facts = {"id": place, "lines": _lines(chunk)} if chunk["start_line"] else {"id": place}
    text = chunk["content"] if is_first else chunk["content"][chunk["own_start"] :]
    return Piece("text", text, facts)


def _lines(chunk: Found) -> str:
    start, end = chunk["start_line"], chunk["end_line"]
    return str(start) if end in (None, start) else f"{start}-{end}"


def _scores(row: Found) -> dict[str, str]:
    names = ("score", "relevance")
    return {name: f"{row[name]:.3f}" for name in names if row[name] is not None}


def _source(row: Found) -> str:
    """Return title, place and pages, as far as they are known."""
    lines: dict[str, Any] = {
        "title": row["title"],
        "source": f"{row['collection']}/{row['source_key']}",
        "uri": _uri(row),
        "pages": ", ".join(map(str, row["pages"] or ())),
    }
    return _fields(lines)


def _uri(row: Found) -> str | None:
    """Return a document's URI; None where it is the file or the name that the source tells."""
    uri, key = row["uri"] or "", row["source_key"]
    is_its_file = uri.startswith("file:") and unquote(uri).endswith(f"/{key}")
    return None if is_its_file or uri == key else uri


def _about(document: Found) -> str:
    return _fields(
        {
            "title": document["title"],
            "source": f"{document['collection']}/{document['source_key']}",
            "uri": _uri(document),
            "summary": document["summary"],
            "modified": document["modified_at"],
        }
    )


def _fields(values: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {one_line(str(value))}" for name, value in _given(values))


def _given(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in values.items() if value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
