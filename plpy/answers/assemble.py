"""Choose and stitch the passages of a context within its budgets."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from pgblend.plpy.lexical.split_text import text_pieces

# How chunks follow each other, and the text before and after one.


def chunk_join(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return where `later` goes on after the end of `earlier`, and what stands between them.

    Both are chunks of one document in its order. They have content, chunk_index, own_start,
    start_offset, end_offset, start_line, end_line. Offsets and lines may be None. The first value
    is the character of later's content from which on nothing repeats `earlier`. The second is the
    white space between, made up from their lines where no chunk has it. None where text is missing
    between them.
    """
    follows = later["chunk_index"] == earlier["chunk_index"] + 1
    spans = [
        chunk["end_offset"] - chunk["start_offset"] == len(chunk["content"])
        if None not in (chunk["start_offset"], chunk["end_offset"])
        else False
        for chunk in (earlier, later)
    ]
    shared = earlier["end_offset"] - later["start_offset"] if all(spans) else -1
    own_start = later["own_start"] if follows else 0
    if shared >= own_start:
        return min(shared, len(later["content"])), ""
    if not follows:
        return None
    if own_start:
        head = later["content"][:own_start]
        return own_start, head[len(head.rstrip()) :]
    if None in (earlier["end_line"], later["start_line"]):
        return 0, "\n\n"
    lines = later["start_line"] - earlier["end_line"]
    return 0, "\n" * min(lines, 2) if lines > 0 else " "


# How far a cut may move to stand between words.
LONGEST_WORD = 40


def text_around(
    chunks: Sequence[Mapping[str, Any]], index: int, characters_before: int, characters_after: int
) -> tuple[str, str]:
    """Return what stands in a document before and after its chunk of that index.

    `chunks` are neighbours in order, as chunk_join takes them, the chunk itself among them. What
    its own content repeats of its neighbours is left out, and so is what lies behind a missing
    chunk. At most so many characters each, cut between words.
    """
    before = after = ""
    earlier = None
    for chunk in chunks:
        join = chunk_join(earlier, chunk) if earlier else None
        if chunk["chunk_index"] < index:
            skip, gap = join or (0, "")
            before = (before if join else "") + gap + chunk["content"][skip:]
        elif chunk["chunk_index"] == index:
            skip, gap = join or (0, "")
            before = before[: max(len(before) + len(gap) - skip, 0)] if join else ""
        elif join is None:
            break
        else:
            skip, gap = join
            after += gap + chunk["content"][skip:]
        earlier = chunk
    return _last(before.rstrip(), characters_before), _first(after.lstrip(), characters_after)


def _last(text: str, limit: int) -> str:
    """Return at most so many characters of the end, from the beginning of a word where one is."""
    start = len(text) - limit
    if start <= 0:
        return text
    if limit and not (text[start].isspace() or text[start - 1].isspace()):
        words = text[start : start + LONGEST_WORD].split(maxsplit=1)
        start += text[start:].index(words[1][0], len(words[0])) if len(words) > 1 else 0
    return text[start:].lstrip()


def _first(text: str, limit: int) -> str:
    """Return at most so many characters of the beginning, to the end of a word where one is."""
    if len(text) <= limit:
        return text
    end = limit
    if limit and not (text[end].isspace() or text[end - 1].isspace()):
        words = text[max(end - LONGEST_WORD, 0) : end].rsplit(maxsplit=1)
        end -= len(words[1]) if len(words) > 1 else 0
    return text[:end].rstrip()


# Tokens that nobody counted are taken for so many times what is estimated.
CAUTION = 1.25


def measured_chunk(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chunk with what a budget needs to know of it.

    `starts` are the offsets of its pieces and its end, `sums` the tokens before each of them.
    `whole` are those of all of it. `own` is the piece where its own text begins. `is_counted` tells
    whether these are counts. Without piece_tokens, or with those of another text, they are
    estimates from token_count. They are a quarter higher, in proportion to the characters.
    """
    content = chunk["content"]
    starts = text_pieces(content, chunk["own_start"])
    tokens = chunk["piece_tokens"] or []
    is_counted = len(tokens) == len(starts) and bool(starts)
    bounds = [*starts, len(content)]
    if is_counted:
        sums = list(accumulate(tokens, initial=0))
        whole = chunk["token_count"]
    else:
        rate = CAUTION * max(chunk["token_count"], 1) / max(len(content), 1)
        sums = [math.ceil(bound * rate) for bound in bounds]
        whole = sums[-1]
    own = starts.index(chunk["own_start"]) if chunk["own_start"] in starts else len(starts)
    return {
        **chunk, "starts": bounds, "sums": sums, "whole": whole, "own": own,
        "is_counted": is_counted,
    }  # fmt: skip


def least_tokens(chunk: Mapping[str, Any]) -> int:
    """Return how many tokens the shortest beginning of a chunk has that a context may show."""
    measured = measured_chunk(chunk)
    own, sums = measured["own"], measured["sums"]
    first = sums[own + 1] - sums[own] if own + 1 < len(sums) else measured["whole"]
    return int(min(first, measured["whole"]))


Range = tuple[int, int]  # pieces [first, last) of a chunk


def context_runs(
    chunks: Mapping[int, Mapping[str, Any]],
    taken: Mapping[int, Sequence[Range]],
    most_tokens: int | None,
) -> list[dict[str, Any]]:
    """Return the runs of text that the taken pieces of one document make, in its order.

    `chunks` are measured_chunk's by chunk_index, `taken` the disjoint, sorted ranges of pieces of
    some of them. Where one goes on from another they are one run, without what the later repeats. A
    run ends where it would have more than `most_tokens`. Each has `tokens` and `fragments`: (what
    goes before, chunk, first character, character after the last, tokens).
    """
    runs: list[dict[str, Any]] = []
    previous: tuple[Mapping[str, Any], int] | None = None
    for index in sorted(taken):
        chunk = chunks[index]
        for first, last in taken[index]:
            start, gap = chunk["starts"][first], ""
            joins = False
            if previous is not None and previous[1] == len(previous[0]["starts"]) - 1:
                join = chunk_join(previous[0], chunk)
                if join is not None and start <= join[0]:
                    start, gap = join[0], _one_token(join[1])
                    joins = True
            end = chunk["starts"][last]
            if start < end:
                tokens = _tokens(chunk, start, last)
                if joins and (
                    most_tokens is None or runs[-1]["tokens"] + bool(gap) + tokens <= most_tokens
                ):
                    runs[-1]["tokens"] += bool(gap) + tokens
                    runs[-1]["fragments"].append((gap, chunk, start, end, tokens))
                else:
                    runs.append({"tokens": tokens, "fragments": [("", chunk, start, end, tokens)]})
            if not (joins and end < start):  # one that lies within the one before changes nothing
                previous = chunk, last
    return runs


def _one_token(gap: str) -> str:
    """Write white space so that it takes one token."""
    return "\n" * min(gap.count("\n"), 2) or gap[:1]


def _tokens(chunk: Mapping[str, Any], start: int, last: int) -> int:
    """Return the tokens from a character on to the end of piece last - 1; a piece counts whole."""
    starts, sums = chunk["starts"], chunk["sums"]
    if start == 0 and last == len(starts) - 1:
        return int(chunk["whole"])
    return int(sums[last] - sums[bisect_right(starts, start) - 1])


Row = dict[str, Any]
Pieces = list[tuple[int, int, int]]  # chunk_index, first piece, piece after the last
# A cut passage of fewer tokens says too little, unless there is nothing else.
LEAST_TOKENS = 40


class Assembly:
    """What is taken of which document, and what may still be."""

    def __init__(
        self, chunks: Sequence[Row], budget: Mapping[str, Any], overheads: Mapping[int, int]
    ) -> None:
        self.chunks: dict[int, dict[int, Row]] = defaultdict(dict)
        for chunk in chunks:
            self.chunks[chunk["document_id"]][chunk["chunk_index"]] = measured_chunk(chunk)
        self.budget = budget
        self.overheads = overheads
        self.taken: dict[int, dict[int, list[Range]]] = defaultdict(dict)
        self.costs: dict[int, int] = defaultdict(int)
        self.reserves = {
            kind: tokens for kind, tokens in budget["reserve_tokens"].items() if tokens
        }
        self.free = budget["max_tokens"] - sum(self.reserves.values())

    def release_reserves(self) -> None:
        """Let every kind have what is left of the reserves."""
        self.free += sum(self.reserves.values())
        self.reserves = {}

    def runs(self, document: int, more: Pieces) -> list[Row]:
        """Return a document's runs of text as they would be with more pieces."""
        taken = self.with_pieces(document, more)
        return context_runs(self.chunks[document], taken, self.budget["max_part_tokens"])

    def with_pieces(self, document: int, more: Pieces) -> dict[int, list[Range]]:
        """Return what of a document is taken, with more pieces."""
        taken = dict(self.taken[document])
        for index, first, last in more:
            taken[index] = _union([*taken.get(index, []), (first, last)])
        return taken

    def has(self, chunk: Row) -> bool:
        """Tell whether all of a chunk's text is taken already."""
        taken = self.taken[chunk["document_id"]]
        if taken.get(chunk["chunk_index"]) == [(0, len(chunk["starts"]) - 1)]:
            return True
        others = (self.chunks[chunk["document_id"]][index] for index in taken)
        return chunk["start_offset"] is not None and any(
            other["start_offset"] is not None
            and other["start_offset"] <= chunk["start_offset"]
            and other["end_offset"] >= chunk["end_offset"]
            and taken[other["chunk_index"]] == [(0, len(other["starts"]) - 1)]
            for other in others
        )

    def take(self, chunk: Row, may_cut: bool) -> str | None:
        """Take as much of a hit and its neighbours as fits: "whole", "cut", or None."""
        document, end = chunk["document_id"], len(chunk["starts"]) - 1
        most = self.budget["max_part_tokens"]
        fits_a_part = most is None or chunk["whole"] <= most
        core = [(chunk["chunk_index"], 0, end)]
        if fits_a_part:
            around = self._neighbours(chunk)
            if around and self._commit(chunk, core + around, len(self.runs(document, core))):
                return "whole"
            if self._commit(chunk, core):
                return "whole"
            if not may_cut:
                return None
        limit = self._room(chunk) - self.overheads[document]
        limit = limit if most is None else min(limit, most)
        is_first = not any(self.taken.values())
        sums, first = chunk["sums"], chunk["own"]
        last = bisect_right(sums, sums[first] + limit) - 1
        if last > first and (is_first or sums[last] - sums[first] >= LEAST_TOKENS):
            return "cut" if self._commit(chunk, [(chunk["chunk_index"], first, last)]) else None
        return None

    def _room(self, chunk: Row) -> int:
        """Return the tokens that may still be spent on a chunk's kind and document."""
        room = int(self.free + self.reserves.get(chunk["kind"], 0))
        most = self.budget["max_file_tokens"]
        return room if most is None else min(room, most - self.costs[chunk["document_id"]])

    def _commit(self, chunk: Row, pieces: Pieces, most_runs: int | None = None) -> bool:
        """Take pieces where there is room for them, and they make no more runs than that."""
        document = chunk["document_id"]
        runs = self.runs(document, pieces)
        cost = sum(run["tokens"] + self.overheads[document] for run in runs)
        spent = cost - self.costs[document]
        if spent > self._room(chunk) or (most_runs is not None and len(runs) > most_runs):
            return False
        reserved = min(max(spent, 0), self.reserves.get(chunk["kind"], 0))
        if reserved:
            self.reserves[chunk["kind"]] -= reserved
        self.free -= spent - reserved
        self.costs[document] = cost
        self.taken[document] = self.with_pieces(document, pieces)
        return True

    def _neighbours(self, chunk: Row) -> Pieces:
        """Return the pieces within the characters asked for before and after a chunk."""
        siblings = self.chunks[chunk["document_id"]]
        pieces: Pieces = []
        asked = self.budget["context_chars"]
        left, index, later = asked["before"], chunk["chunk_index"] - 1, chunk
        while left > 0 and (found := siblings.get(index)):
            repeated = len(later["content"][: later["own_start"]].rstrip())
            end = len(found["content"]) - repeated
            first = next(at for at, start in enumerate(found["starts"]) if start >= end - left)
            if first < len(found["starts"]) - 1:
                pieces.append((index, first, len(found["starts"]) - 1))
            left = left - (end - found["own_start"]) if first == 0 else 0
            index, later = index - 1, found
        left, index = asked["after"], chunk["chunk_index"] + 1
        while left > 0 and (found := siblings.get(index)):
            last = bisect_right(found["starts"], found["own_start"] + left) - 1
            if last > found["own"]:
                pieces.append((index, 0, last))
            own_length = len(found["content"]) - found["own_start"]
            left = left - own_length if last == len(found["starts"]) - 1 else 0
            index += 1
        return pieces


def _union(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def assemble_context(
    hits: Sequence[Mapping[str, Any]],
    chunks: Sequence[Row],
    budget: Mapping[str, Any],
    overheads: Mapping[int, int],
) -> dict[str, Any]:
    """Choose what of the hits a context has room for, and stitch it.

    `hits`, best first, have chunk_id; `chunks` are theirs and those around them, with document_id,
    chunk_index, kind and what measured_chunk and chunk_join read. `budget` has max_tokens,
    max_file_tokens and max_part_tokens (None: no limit), reserve_tokens and context_chars (before,
    after). Reserves, by kind, are kept for passages of that kind. They are given to the others once
    all hits had their chance. `overheads` are the tokens that a part of a document takes beside its
    text.

    A hit whose text is there already, as a whole or within what was taken, is dropped. One that
    does not fit is left out. Without reserves, and when they have been given away, it is cut at its
    end instead. Returns `parts`: of each run its document_id, tokens, fragments (as context_runs
    gives them) and `hits` (places in `hits`); `taken`: of each hit "whole", "cut", "duplicate" or
    None; `considered`: tokens of the hits that were taken or dropped, and `repeated`: how many of
    these were there already.
    """
    assembly = Assembly(chunks, budget, overheads)
    by_id = {
        chunk["chunk_id"]: chunk
        for siblings in assembly.chunks.values()
        for chunk in siblings.values()
    }
    places = {hit["chunk_id"]: place for place, hit in enumerate(hits)}
    outcome: list[str | None] = [None] * len(hits)
    seen: set[str] = set()
    for may_cut in [False, True] if assembly.reserves else [True]:
        if may_cut:
            assembly.release_reserves()
        for place, hit in enumerate(hits):
            chunk = by_id.get(hit["chunk_id"])
            if outcome[place] or chunk is None or not chunk["content"].strip():
                continue
            if chunk["content"] in seen or assembly.has(chunk):
                outcome[place] = "duplicate"
            elif taken := assembly.take(chunk, may_cut):
                outcome[place] = taken
                seen.add(chunk["content"])
    parts: list[dict[str, Any]] = [
        {"document_id": document, **run, "hits": _hits_of(run, places, outcome)}
        for document in assembly.taken
        for run in assembly.runs(document, [])
    ]
    return {"parts": parts, "taken": outcome, **_repetition(hits, by_id, outcome, parts)}


def _repetition(
    hits: Sequence[Mapping[str, Any]],
    by_id: Mapping[int, Row],
    outcome: Sequence[str | None],
    parts: Sequence[Mapping[str, Any]],
) -> dict[str, int]:
    """Return {considered, repeated}: tokens of the hits that count, and those there already."""
    tokens = {
        place: by_id[hit["chunk_id"]]["whole"] for place, hit in enumerate(hits) if outcome[place]
    }
    whole = {hits[place]["chunk_id"] for place in tokens if outcome[place] == "whole"}
    stitched = sum(
        chunk["whole"] - shown
        for part in parts
        for _, chunk, start, _, shown in part["fragments"]
        if start and chunk["chunk_id"] in whole
    )
    duplicates = sum(tokens[place] for place in tokens if outcome[place] == "duplicate")
    return {"considered": sum(tokens.values()), "repeated": duplicates + stitched}


def _hits_of(
    run: Mapping[str, Any], places: Mapping[int, int], outcome: Sequence[str | None]
) -> list[int]:
    """Return the places of the hits that a run shows, best first."""
    shown = {places.get(chunk["chunk_id"]) for _, chunk, *_ in run["fragments"]}
    return sorted(
        place for place in shown if place is not None and outcome[place] in ("whole", "cut")
    )
