"""Shards that do not answer: how long they are left out, and what is said of it."""

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from pgblend.plpy.session import UserError

LEAST_S = 5.0
TIMES = 10
MOST_SHOWN = 200
_HINT = (
    "pgblend shards status tells which ones answer; a role goes to shards by a login of its own:"
    " pgblend shards grant ROLE"
)


class Absence(NamedTuple):
    """What a search lacks, and what to do."""

    problem: str
    hint: str


class Absences:
    """The shards that a session leaves out for a role: each with the reason, and until when."""

    def __init__(self, kept: dict[tuple[str, int], tuple[str, float]], role: str) -> None:
        self.kept, self.role = kept, role

    def note(self, number: int, reason: str, took_s: float) -> str:
        """Leave a shard out: so a tenth of the time at most is spent on waiting for it."""
        told = shortened(reason)
        self.kept[self.role, number] = told, monotonic() + max(LEAST_S, TIMES * took_s)
        return told

    def forget(self, number: int) -> None:
        """Take a shard as one that answers."""
        self.kept.pop((self.role, number), None)

    def due(self, numbers: Iterable[int]) -> Sequence[int]:
        """Return those of all shards to ask again: their time is over, or all are left out."""
        all_ = [*numbers]
        left_out = {number: self.kept[self.role, number][1] for number in self.lasting(all_)}
        now = monotonic() if len(left_out) < len(all_) else float("inf")
        return [number for number, until in left_out.items() if until <= now]

    def lasting(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return why shards are left out."""
        found = {number: self.kept.get((self.role, number)) for number in numbers}
        return {number: one[0] for number, one in found.items() if one is not None}


def shortened(reason: str) -> str:
    """Return what PL/Proxy says of a failure in one line, without the name of the routine."""
    told = " ".join(reason.rpartition("_ask_shards(3): ")[2].split())
    return told if len(told) <= MOST_SHOWN else f"{told[:MOST_SHOWN]}…"


def told_absent(names: Mapping[int, str], absent: Mapping[int, str], percent: int) -> Absence:
    """Return what is missing where some shards are left out; PB014 where all of them are."""
    told = "; ".join(f"{names[number]}: {absent[number]}" for number in sorted(absent))
    if len(absent) == len(names):
        raise UserError(f"no shard answered ({told})", _HINT, "PB014")
    count = f"{len(absent)} of {len(names)} did not answer ({told})"
    return Absence(f"{count}; about {percent} % of the passages are missing", _HINT)
