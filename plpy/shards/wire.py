"""Requests and answers of the ports as JSON: a tuple with names is a list of its values.

Columns of numbers are packed, which takes a third of the time of JSON's digits.
"""

from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from struct import Struct
from types import UnionType
from typing import Any, NamedTuple

from pgblend.plpy.ports import CandidateList

# Of trips and their answers: a coordinator of a newer one than its shard gets none.
WIRE = 4
_CANDIDATES = "qqid"  # chunk ids, document ids, chunk indexes, scores
# A kind is a type of the ports: a NamedTuple, a Sequence of one, one or None, or what JSON has.


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
