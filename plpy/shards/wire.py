"""Requests and answers of the ports as JSON: a tuple with names is a list of its values."""

from collections.abc import Sequence
from types import UnionType
from typing import Any, NamedTuple

# Of trips and their answers: a coordinator of a newer one than its shard gets none.
WIRE = 2
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
