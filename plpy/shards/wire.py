"""Requests and answers of the ports as JSON: a tuple with names is a list of its values.

Columns of numbers are packed, which takes a third of the time of JSON's digits.
"""

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import isclose, isfinite
from struct import Struct
from struct import error as layout_error
from types import UnionType
from typing import Any, NamedTuple

from pgblend.plpy.base.ports import (
    CandidateList,
    Counts,
    Distance,
    Held,
    Holder,
    NamedDocument,
    NodePassage,
    Passage,
    Sample,
    SimilarLexeme,
)

# Of trips and their answers: a coordinator of a newer one than its shard gets none.
WIRE = 4
_CANDIDATES = "qqid"  # chunk ids, document ids, chunk indexes, scores
# A kind is a type of the ports. That is a NamedTuple, a Sequence of one, one or None, or what JSON
# has.


class Step(NamedTuple):
    """An edge, and the collections that it says its ends are of which are not on the shard."""

    node: int
    neighbour: int
    is_reverse: bool
    edge_type: str
    weight: float
    from_of: int | None
    to_of: int | None

    @property
    def far_ends(self) -> list[tuple[int, int]]:
        """Return those ends, with these collections."""
        ends = (self.node, self.from_of), (self.neighbour, self.to_of)
        return [(node, of) for node, of in ends if of is not None]


def built(kind: Any, value: Any) -> Any:
    """Return a value that JSON gave as its kind says."""
    if value is None:
        return None
    if isinstance(kind, UnionType):
        kind = kind.__args__[0]
    if hasattr(kind, "_fields"):
        return kind(*map(built, kind.__annotations__.values(), value))
    if getattr(kind, "__origin__", None) is Sequence and hasattr(kind.__args__[0], "_fields"):
        return [built(kind.__args__[0], one) for one in value]
    return value


@lru_cache(maxsize=1000)
def columns_of(kinds: str, count: int) -> Struct:
    """Return the layout of columns of some kinds, which takes as long to make as to use."""
    return Struct("<" + "".join(f"{count}{kind}" for kind in kinds))


def packed(kinds: str, *columns: Sequence[Any]) -> str:
    """Return columns of numbers, all of one length, as a text; kinds are those of struct."""
    layout = columns_of(kinds, len(columns[0]))
    return b2a_base64(layout.pack(*chain(*columns)), newline=False).decode()


def unpacked(kinds: str, text: str) -> list[Sequence[Any]]:
    """Return the columns of a text of `packed`."""
    read = a2b_base64(text)
    count = len(read) // columns_of(kinds, 1).size
    values = columns_of(kinds, count).unpack(read)
    return [values[place * count : (place + 1) * count] for place in range(len(kinds))]


def packed_list(found: CandidateList) -> list[Any]:
    """Return a list of candidates as it travels."""
    columns = found.chunk_ids, found.document_ids, found.chunk_indexes, found.scores
    return [packed(_CANDIDATES, *columns), found.parts, found.perfect]


def unpacked_list(value: Sequence[Any]) -> CandidateList:
    """Return a list of candidates that has travelled."""
    text, parts, perfect = value
    chunk_ids, document_ids, chunk_indexes, scores = unpacked(_CANDIDATES, text)
    return CandidateList(chunk_ids, document_ids, chunk_indexes, scores, parts, perfect)


# What shape the answer to each call has: what a shard says is looked at before anything uses it.
#
# A shard may be another server, of another version, or in other hands. So types, sizes, numbers and
# ids are checked. What does not fit is told with the name of the call.

Call = Sequence[Any]
Check = Callable[[Any, Any], bool]  # the value, the call's own argument
_MOST = 2**63
_MOST_OF_COLUMN = 2**31  # places in texts are of PostgreSQL's type integer
_SMALL = {"start_offset", "end_offset", "start_line", "end_line", "pages", "chunk_index"}
_MOST_EXPONENT = 300
_ROUNDED = 0.001  # vectors of halves
_NONSENSE = (
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    layout_error,
)
_AROUND: Mapping[str, Any] = {
    **dict.fromkeys(("chunk_id", "document_id", "chunk_index", "token_count"), int | None),
    **dict.fromkeys(("start_offset", "end_offset", "start_line", "end_line"), int | None),
    "own_start": int | None,
    **dict.fromkeys(("content", "kind", "context"), str | None),
    **dict.fromkeys(("pages", "piece_tokens"), Sequence[int] | None),
}
_NEVER_NULL = ("chunk_id", "document_id", "chunk_index", "content")


def misfit(calls: Sequence[Call], answers: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the name of the first call whose answer is of another shape; None where all fit."""
    candidates = 0
    for call, answer in zip(calls, answers, strict=True):
        name, *arguments = call
        if "error" in answer:
            continue
        value = answer["value"]
        try:
            if name == "hashes":
                fits = len(unpacked("I", value)[0]) == candidates
            elif name in _LISTS:
                fits = _is_list(value, arguments[0])
                candidates += len(unpacked_list(value).scores) if fits else 0
            else:
                fits = _CHECKS[name](value, arguments[0] if arguments else None)
        except _NONSENSE:
            fits = False
        if not fits:
            return str(name)
    return None


def is_of(kind: Any, value: Any, most: int = _MOST) -> bool:
    """Tell whether a value that JSON gave is of a kind: a type of the ports, or of their fields."""
    if isinstance(kind, UnionType):
        return value is None or is_of(kind.__args__[0], value, most)
    if hasattr(kind, "_fields"):
        kinds = kind.__annotations__
        return _is_row(value, len(kinds)) and all(
            is_of(one, given, _MOST_OF_COLUMN if name in _SMALL else most)
            for (name, one), given in zip(kinds.items(), value, strict=True)
        )
    if getattr(kind, "__origin__", None) is Sequence:
        return isinstance(value, list) and all(is_of(kind.__args__[0], one, most) for one in value)
    if kind is bool:
        return isinstance(value, bool)
    if kind is str:
        return isinstance(value, str) and is_text(value)
    is_number = type(value) is int or (kind is float and type(value) is float)
    return is_number and (-most <= value < most if kind is int else isfinite(value))


def is_text(value: str) -> bool:
    """Tell whether PostgreSQL can store a text."""
    return "\0" not in value and (value.isascii() or _is_whole(value))


def _is_whole(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_row(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _is_json(text: str) -> bool:
    """Tell whether a text is an object that PostgreSQL takes as jsonb."""

    def number(digits: str) -> float:
        exponent = digits.lower().partition("e")[2]
        if exponent and abs(int(exponent)) > _MOST_EXPONENT:
            raise ValueError(digits)
        return float(digits)

    def no_number(name: str) -> None:
        raise ValueError(name)

    read = json.loads(text, parse_float=number, parse_constant=no_number)
    return isinstance(read, dict) and "\\u0000" not in text and is_text(json.dumps(read))


def _is_list(value: Any, request: Any) -> bool:
    """Tell whether this is a list of candidates, no longer than was asked for, each there once.

    They come best first, and no score is beyond what the search itself says that none can reach.
    """
    if not (_is_row(value, 3) and isinstance(value[0], str) and is_of(float | None, value[2])):
        return False
    found = unpacked_list(value)
    parts = getattr(request, "parts", ())
    return (
        len(found.scores) <= request.depth
        and len({*found.chunk_ids}) == len(found.chunk_ids)
        and all(map(isfinite, found.scores))
        and is_of(Sequence[int], value[1])
        and len(found.parts) in (0, len(found.scores))
        and all(0 <= one < max(len(parts), 1) for one in found.parts)
        and all(one >= other for one, other in pairwise(found.scores))
        and _are_possible(found, request)
    )


def _are_possible(found: CandidateList, request: Any) -> bool:
    """Tell whether scores are within their bounds: BM25 below what its weights come to."""
    if not found.scores:
        return True
    if not hasattr(request, "formula"):
        low, most = (-1.0, 1.0) if found.perfect is None else (0.0, found.perfect)
        return low - _ROUNDED <= found.scores[-1] and found.scores[0] <= most + _ROUNDED
    tops = [sum(part.weights) * (request.formula.k1 + 1) for part in request.parts]
    places = found.parts or [0] * len(found.scores)
    return (
        any(isclose(found.perfect or 0.0, top, rel_tol=_ROUNDED) for top in tops)
        and min(found.scores) >= 0
        and all(
            score <= tops[place] * (1 + _ROUNDED)
            for score, place in zip(found.scores, places, strict=True)
        )
    )


def _rows(kind: Any, key: str, of: str) -> Check:
    """Return what takes rows of a kind, each about one of the ids that the request has."""
    place = kind._fields.index(key)

    def check(value: Any, request: Any) -> bool:
        asked = {*getattr(request, of)}
        return is_of(Sequence[kind], value) and all(row[place] in asked for row in value)

    return check


def _passages(value: Any, request: Any) -> bool:
    """Each is there once."""
    metadata = Passage._fields.index("metadata")
    ids = [row[0] for row in value]
    return (
        _rows(Passage, "chunk_id", "chunk_ids")(value, request)
        and len({*ids}) == len(ids)
        and all(_is_json(row[metadata]) for row in value)
    )


def _pairs(kind: Any, is_value: Callable[[Any], bool] = lambda _: True) -> Check:
    """Return what takes [id, value] of ids that the request has."""

    def check(value: Any, request: Any) -> bool:
        asked = None if request is None else {*request.chunk_ids}
        return isinstance(value, list) and all(
            _is_row(one, 2)
            and is_of(int, one[0])
            and (asked is None or one[0] in asked)
            and is_of(kind, one[1])
            and is_value(one[1])
            for one in value
        )

    return check


def _is_vector(text: str) -> bool:
    """Tell whether a text is a vector: numbers, all finite, in brackets."""
    return text[:1] + text[-1:] == "[]" and all(isfinite(float(n)) for n in text[1:-1].split(","))


def _is_vectors(value: Any, request: Any) -> bool:
    sizes = {one[1].count(",") for one in value}
    return _pairs(str, _is_vector)(value, request) and len(sizes) <= 1


def _is_counts(value: Any, request: Any) -> bool:
    """Counts are of each lexeme that was asked for, none is below 0 or beyond what there is."""
    if not is_of(Counts, value):
        return False
    n, length, *columns = value
    count = len(request.lexemes)
    return (
        min([n, length, *columns[0], *columns[1], *columns[2]]) >= 0
        and len(columns[0]) == count
        and len(columns[1]) == len(columns[2])
        and len(columns[1]) in (0, count)
        and max([*columns[0], *columns[1], *columns[2]], default=0) <= n
        and all(df <= of_language for of_language, df in zip(*columns[1:], strict=True))
    )


def _is_sample(value: Any, _: Any) -> bool:
    """`last` is a hash, an integer of 64 bits without a sign."""
    *counted, last = value
    return (
        is_of(Sample, [*counted, 0])
        and type(last) is int
        and 0 <= last < 2 * _MOST
        and len({*value[2]}) == len(value[2]) <= value[1] <= value[0]
    )


def _is_similar(value: Any, request: Any) -> bool:
    """The cost of edits is infinite where it is too high."""
    cost = SimilarLexeme._fields.index("cost")
    rows = [[*row[:cost], 0.0 if row[cost] == float("inf") else row[cost], *row[cost + 1 :]]
            for row in value]  # fmt: skip
    places = range(len(request.lexemes))
    return is_of(Sequence[SimilarLexeme], rows) and all(row[0] in places for row in rows)


def _of_each(kind: Any, of: str) -> Check:
    """Return what takes a value for each of what the request has, in its order."""
    return lambda value, request: (
        is_of(Sequence[kind], value) and len(value) == len(getattr(request, of))
    )


def _is_distances(value: Any, request: Any) -> bool:
    places = range(len(request.keys))
    return _rows(Distance, "chunk_id", "chunk_ids")(value, request) and all(
        row[0] in places for row in value
    )


def _is_passing(value: Any, request: Any) -> bool:
    asked = {*request.chunk_ids}
    return _of_each(Sequence[int], "filters")(value, request) and all(
        asked.issuperset(one) for one in value
    )


def _is_steps(value: Any, request: Any) -> bool:
    """No more than were asked for; an edge that several passages tell of comes several times."""
    return _rows(Step, "node", "nodes")(value, request) and len(value) <= request.most


def _is_around(value: Any, _: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, dict)
        and row.keys() == _AROUND.keys()
        and all(is_of(kind, row[name], _MOST_OF_COLUMN if name in _SMALL else _MOST)
                for name, kind in _AROUND.items())
        and all(row[name] is not None for name in _NEVER_NULL)
        for row in value
    )  # fmt: skip


def _is_error(value: Any, _: Any) -> bool:
    """None, or SQLSTATE, message, hint and table."""
    return value is None or (
        _is_row(value, 4) and is_of(Sequence[str], value) and len(value[0]) == 5
    )


def _of(kind: Any) -> Check:
    return lambda value, _: is_of(kind, value)


_LISTS = ("find", "nearest", "literal")
_CHECKS: Mapping[str, Check] = {
    "configurations": _of(Sequence[str]),
    "check_index": _is_error,
    "count": _is_counts,
    "known": _of_each(bool, "lexemes"),
    "similar": _is_similar,
    "sample": _is_sample,
    "hold": _of(Held),
    "has_chunks": _of(bool),
    "first_named": lambda value, _: (
        value is None or (_is_row(value, 2) and is_of(int, value[0]) and is_of(bool, value[1]))
    ),
    "is_named": _of(bool),
    "around": _is_around,
    "routine": lambda value, _: isinstance(value, list),
    "view": lambda value, _: isinstance(value, list),
    "passages": _passages,
    "snippets": lambda value, _: _pairs(str)(value, None),
    "holders": _rows(Holder, "chunk_id", "chunk_ids"),
    "ages_days": _of_each(float | None, "chunk_ids"),
    "languages": _of_each(str | None, "document_ids"),
    "passing": _is_passing,
    "distances": _is_distances,
    "named_documents": _rows(NamedDocument, "name", "names"),
    "cosines": _pairs(float | None, lambda one: one is None or abs(one) <= 1 + _ROUNDED),
    "vectors": _is_vectors,
    "steps": _is_steps,
    "present": lambda value, nodes: (
        is_of(Sequence[Sequence[int]], value)
        and all(len(row) == 2 and row[0] in nodes for row in value)
    ),
    "node_passages": _rows(NodePassage, "node", "nodes"),
}
