"""Trips to shards: one statement each, by PL/Proxy, and what is known from earlier ones.

A search goes by facts that this session learnt before, statistics above all. It has the shards
check them on its next trip. Where one has changed, Changed is raised and the search goes by the new
ones. So nothing is counted twice, and no result rests on what has changed.

A trip in which a shard fails is made again, to each alone. Those that fail once more are left out:
LeftOut is raised, and the search begins again without them.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from pgblend.plpy.base.session import (
    CANCELLED,
    Database,
    ProgramError,
    error_message,
    error_state,
    keep_value,
)
from pgblend.plpy.shards.wire import WIRE, misfit

# Which shards have passages of the collections that are asked about, and how many of them.

MOST_KEPT = 100
EVERYWHERE = "{[0,4096)}"
_OWNED = """
    SELECT s.place - 1 AS place, b.shard, count(*) AS buckets
    FROM unnest($1) WITH ORDINALITY AS s (span, place)
    INNER JOIN pgblend_data.shard_bucket AS b ON b.bucket::integer <@ s.span::int4multirange
    GROUP BY s.place, b.shard
"""


class Spread(NamedTuple):
    """How passages are spread over the shards that have any, if collections are of one size.

    `shares` has about which part of them each shard has. `evenly` says over how many shards a
    collection is spread. All are taken for like the one that has the largest part.
    """

    shares: Mapping[int, float]
    evenly: int

    def missing_percent(self, absent: Sequence[int]) -> int:
        """Return about how many of a hundred passages some of the shards have."""
        return round(100 * sum(self.shares[number] for number in absent))


def spread_of(db: Database, shards: Sequence[int], spans: Sequence[str]) -> Spread:
    """Return the spread of collections of some spans: JSON lists of buckets and how many have them.

    None at all: of the whole store. A split gives shards new numbers, and never one again. So the
    numbers of all `shards` tell which map this is. A session keeps what it read of the map.
    """
    kept: dict[tuple[str, ...], Spread] = db.kept("shard_spreads")
    key = ",".join(map(str, shards)), *spans
    if key not in kept:
        keep_value(kept, key, _read(db, spans), MOST_KEPT)
    return kept[key]


def _read(db: Database, spans: Sequence[str]) -> Spread:
    buckets, counts = zip(*map(json.loads, spans or [json.dumps([EVERYWHERE, 1])]), strict=True)
    rows = db.run(_OWNED, ["text[]"], list(buckets))
    sizes: Counter[int] = Counter()
    for row in rows:
        sizes[row["place"]] += row["buckets"]
    shares: Counter[int] = Counter()
    parts = [row["buckets"] / sizes[row["place"]] for row in rows]
    weights = [counts[row["place"]] / sum(counts) for row in rows]
    for row, part, weight in zip(rows, parts, weights, strict=True):
        shares[row["shard"]] += part * weight
    return Spread(shares, round(1 / max(parts)))


# Shards that do not answer: how long they are left out, and what is said of it.

LEAST_S = 5.0
TIMES = 10
MOST_SHOWN = 200
_HINT = (
    "pgblend shards status tells which ones answer; a role goes to shards by a login of its own:"
    " pgblend shards grant ROLE"
)


class Absence(NamedTuple):
    """What a search lacks, and what to do, as its log notes it."""

    stage: str
    problem: str
    hint: str
    sqlstate: str


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
    told = ", ".join(f"{names[number]}: {absent[number]}" for number in sorted(absent))
    if len(absent) == len(names):
        raise ProgramError(f"no shard answered ({told})", _HINT, "PB014")
    count = f"{len(absent)} of {len(names)} did not answer ({told})"
    problem = f"{count}, so about {percent} % of the passages are missing"
    return Absence("shards", problem, _HINT, "PB014")


MOST_FACTS = 1000
MOST_TURNS = 5
LONG_MS = 600_000.0
LEAST_MS = 500.0  # for a trip: a connection and its program may be new
MOST_CHARACTERS = 64 * 1024 * 1024  # of a shard's answer
_SENSELESS = (
    "its answer makes no sense: it may be another server than a shard, or of another version"
)
# $1 ids of collections, NULL: all that the caller may read.
_SHARDS = """
    SELECT ARRAY(SELECT s.number FROM pgblend_data.shard AS s ORDER BY s.number) AS numbers,
        ARRAY(SELECT s.name FROM pgblend_data.shard AS s ORDER BY s.number) AS names,
        f.version, current_user::text AS role,
        ARRAY(
            SELECT json_build_array(coalesce(c.buckets, $2::int4multirange), count(*))::text
            FROM pgblend_data.collection AS c
            WHERE $1 IS NULL OR c.id = ANY($1)
            GROUP BY c.buckets
            ORDER BY c.buckets
        ) AS spans
    FROM pgblend_data.shard_front AS f
"""
_ASK = "SELECT a.shard, a.answer FROM pgblend._ask_shards($1, $2, $3) AS a"

_TIME_OVER = "55P03"
# Classes of SQLSTATE: connections, resources, operators, internal errors, what there is and may be
# called, routines in other languages.
_OF_SERVERS = ("08", "53", "57", "58", "XX", "F0", "42", "38", "39")
_ELSEWHERE = "40001"  # shards were changed: the search begins again, and knows

Call = Sequence[Any]  # name, arguments
Merge = Callable[[Sequence[Any]], Any]
IsKept = Callable[[Any], bool]


class Changed(Exception):
    """Facts that a search went by are no longer so; `names` are those of the calls."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(sorted(names))
        self.names = names


class ShardLeftOut(Exception):
    """Shards failed that an answer was wanted of: it is to be made without them, from the start."""


class Unanswered(Exception):
    """A trip had no answer; the text says why."""


class Trips:
    """The trips of one search.

    `left_ms` tells how long the arm that asks has, `deadline` when the search must be over, on the
    monotonic clock. A fact is the merged answer to a call. The session keeps it for the role that
    asked and the shards that answered. `absent` says of shards why they are left out. `names` are
    those of the shards that have what is asked about, and `spread` says how much each has.
    """

    names: Mapping[int, str]
    shards: Sequence[int]
    spread: Spread
    version: int
    absences: Absences
    asker: str

    def __init__(self, db: Database, absent: dict[int, str]) -> None:
        self.db, self.absent = db, absent
        self.kept: dict[tuple[str, str], Any] = db.kept("shard_facts")
        self.used: dict[str, tuple[Call, Merge, IsKept]] = {}
        self.likely: Sequence[Call] = ()  # facts that a new session will need
        self.ahead: dict[str, Sequence[Any]] = {}  # answers to them
        self.turns, self.unchecked = 0, False
        self.left_ms = LONG_MS
        self.deadline = monotonic() + LONG_MS / 1000

    def begin(self, deadline: float, collection_ids: Sequence[int] | None = ()) -> Absence | None:
        """Find out which shards there are to ask; return what is missing.

        Those have the buckets of the collections, of all that the role may read where they are
        None. Without any, all shards are asked. One that was left out long enough is asked alone
        first, for nothing; so are all where all were. PB014 where none is left.
        """
        self.deadline = deadline
        row = self.db.run(_SHARDS, ["bigint[]", "text"], collection_ids, EVERYWHERE)[0]
        self.spread = spread_of(self.db, row["numbers"], row["spans"])
        names = zip(row["numbers"], row["names"], strict=True)
        self.names = {number: name for number, name in names if number in self.spread.shares}
        self.version = row["version"]
        self.absences = Absences(self.db.kept("shard_absences"), row["role"])
        for number in self.absences.due(self.names):
            if number not in self.absent:
                self._try_alone(number, [])
        self.absent.update(self.absences.lasting(self.names))
        self.shards = [number for number in self.names if number not in self.absent]
        self.asker = f"{row['role']} {self.shards}"
        missing = {number: self.absent[number] for number in self.names if number in self.absent}
        percent = self.spread.missing_percent([*missing])
        return told_absent(self.names, missing, percent) if missing else None

    def fact(self, call: Call, merge: Merge, is_kept: IsKept = bool) -> Any:
        """Return a fact: as it is known, or else as all shards are asked for it.

        It is kept where `is_kept`. What ends a search before a list is asked for must not be, since
        nothing would check it.
        """
        key = json.dumps(call)
        if (self.asker, key) in self.kept:
            self.unchecked = True
            self.used[key] = call, merge, is_kept
            return self.kept[self.asker, key]
        found = merge(self._learnt(key, call))
        if is_kept(found):
            self.used[key] = call, merge, is_kept
            keep_value(self.kept, (self.asker, key), found, MOST_FACTS)
        return found

    def _learnt(self, key: str, call: Call) -> Sequence[Any]:
        """Return the answers to a call; what is likely to be asked next comes with them."""
        if key not in self.ahead:
            calls = {key: call}
            for likely in self.likely:
                other = json.dumps(likely)
                if (self.asker, other) not in self.kept:
                    calls[other] = likely
            self.likely = []
            self.ahead.update(zip(calls, self.everywhere([*calls.values()]), strict=True))
        return self.ahead.pop(key)

    def checked(self, calls: Sequence[Call]) -> tuple[list[list[Any]], set[str]]:
        """Ask all shards, and for every fact that was used; return answers, and what has changed.

        Those of the facts are of the same snapshot of each shard as the answers.
        """
        columns = self.everywhere([*(call for call, *_ in self.used.values()), *calls])
        self.unchecked = False
        changed = set()
        for (key, (call, merge, is_kept)), values in zip(self.used.items(), columns, strict=False):
            found = merge(values)
            if self.kept.get((self.asker, key)) != found:
                changed.add(call[0])
            self.kept.pop((self.asker, key), None)
            if is_kept(found):
                keep_value(self.kept, (self.asker, key), found, MOST_FACTS)
        return columns[len(self.used) :], changed

    def look_again(self, changed: set[str]) -> None:
        """Raise Changed where facts have changed; a store that never rests is taken as it is."""
        self.turns += 1
        if changed and self.turns <= MOST_TURNS:
            self.used = {key: one for key, one in self.used.items() if one[0][0] == "hold"}
            raise Changed(changed)

    def everywhere(self, calls: Sequence[Call]) -> list[list[Any]]:
        """Ask all shards; return each call's answers by shard."""
        answers = self.ask(dict.fromkeys(self.shards, calls))
        return [list(column) for column in zip(*answers.values(), strict=True)]

    def ask(self, calls: Mapping[int, Sequence[Call]]) -> dict[int, list[Any]]:
        """Make one trip to some shards; return the answers to the calls of each.

        LeftOut where some do not answer.
        """
        began = monotonic()
        try:
            answers = self._trip(calls)
        except Unanswered:
            tried = [self._try_alone(number, asked, began) for number, asked in calls.items()]
            answers = {number: one for of_shard in tried for number, one in of_shard.items()}
        unfit = {number: one for number, one in answers.items() if isinstance(one, str)}
        sound = {number: one for number, one in answers.items() if number not in unfit}
        unfit.update(broken(calls, sound))
        self.absent.update(unfit)
        if unfit or len(answers) < len(calls):
            raise ShardLeftOut
        return {number: [taken(one) for one in answers[number]] for number in calls}

    def refuse(self, numbers: Iterable[int], name: str) -> None:
        """Leave shards out whose answers to a call do not fit what they or others said before."""
        self.absent.update(dict.fromkeys(numbers, f"{_SENSELESS} ({name})"))
        raise ShardLeftOut

    def _try_alone(
        self, number: int, calls: Sequence[Call], began: float | None = None
    ) -> dict[int, Any]:
        """Return the answer of a shard, nothing where it fails: then it is left out for a while.

        That is ten times as long as it has kept the search waiting, which `began` then.
        """
        now = monotonic()
        if now > self.deadline:
            self.absent[number] = "the time of the search was over before it was asked"
            return {}
        try:
            found = self._trip({number: calls})
        except Unanswered as error:
            took_s = monotonic() - (now if began is None else began)
            self.absent[number] = self.absences.note(number, str(error), took_s)
            return {}
        self.absences.forget(number)
        return found

    def _trip(self, calls: Mapping[int, Sequence[Call]]) -> dict[int, Any]:
        """Make one trip; return by shard the answers to its calls, or why it answers none.

        It takes half of the time that is left at most: so there is time to go on without it.
        """
        limit_ms = max(LEAST_MS, (self.deadline - monotonic()) * 500)
        counted = self.db.kept("shard_trips")
        counted["made"] = counted.get("made", 0) + 1
        counted["shards"] = counted.get("shards", 0) + len(calls)
        asked = [*calls.values()]
        shared = asked[0] if asked and all(one is asked[0] for one in asked) else []
        envelope = {"wire": WIRE, "left_ms": self.left_ms, "version": self.version}
        trip = json.dumps({**envelope, "calls": shared})
        further = ["[]" if one is shared else json.dumps(one) for one in asked]
        types = ["integer[]", "text[]", "text"]
        try:
            rows = self.db.run_within(limit_ms, _ASK, types, list(calls), further, trip)
        except self.db.Problem as error:
            message, state = error_message(error), error_state(error)
            is_own = "] REMOTE " not in message
            if state == _ELSEWHERE or (is_own and state == CANCELLED):
                raise
            if is_own and state == _TIME_OVER:
                message = f"no answer within {limit_ms:.0f} ms"
            raise Unanswered(message) from error
        found = {row["shard"]: row["answer"] for row in rows}
        return {number: answers_in(found.get(number), len(calls[number])) for number in calls}


def broken(
    calls: Mapping[int, Sequence[Call]], answers: Mapping[int, Sequence[Mapping[str, Any]]]
) -> dict[int, str]:
    """Return the shards whose answers are of another shape, or an error of the shard's own.

    An error that all give is the search's. Of several it is a shard's own where the server, its
    routines or its tables are what is wrong.
    """
    found: dict[int, str] = {}
    for number, of_shard in answers.items():
        name = misfit(calls[number], of_shard)
        errors = [one["error"] for one in of_shard if one.get("error")]
        if name is not None:
            found[number] = f"{_SENSELESS} ({name})"
        elif errors and errors[0][0][:2] in _OF_SERVERS:
            found[number] = errors[0][1]
    whole = [number for number in answers if number not in found]
    return found if whole or any(_SENSELESS in told for told in found.values()) else {}


def answers_in(text: str | None, count: int) -> list[dict[str, Any]] | str:
    """Return a shard's answers to so many calls, or why it gives none, which what is wrong is too.

    So a shard whose answer is not one is left out and named, and the others' are shown.
    """
    if text is None:
        return "no answer came for it"
    if len(text) > MOST_CHARACTERS:
        return f"its answer has {len(text):,} characters: expected {MOST_CHARACTERS:,} at most"
    try:
        answers = json.loads(text)
    except (ValueError, RecursionError):
        return _SENSELESS
    if isinstance(answers, str):
        return answers
    is_sound = isinstance(answers, list) and len(answers) == count
    return answers if is_sound and all(map(_is_answer, answers)) else _SENSELESS


def _is_answer(answer: Any) -> bool:
    """Tell whether this is the value of a call, or the error that it ended in."""
    if not isinstance(answer, dict):
        return False
    error = answer.get("error")
    return "value" in answer or (
        isinstance(error, list)
        and len(error) == 4
        and all(one is None or isinstance(one, str) for one in error)
        and len(error[0] or "") == 5
        and error[1] is not None
    )


def taken(answer: Mapping[str, Any]) -> Any:
    """Return the value of an answer, or raise its error."""
    if "error" in answer:
        sqlstate, message, hint, table = answer["error"]
        raise ProgramError(message, hint, sqlstate, table_name=table)
    return answer["value"]
