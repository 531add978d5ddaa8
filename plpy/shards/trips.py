"""Trips to shards: one statement each, by PL/Proxy, and what is known from earlier ones.

A search goes by facts that this session learnt before, statistics above all, and has the shards
check them on its next trip: where one has changed, Changed is raised and the search goes by the new
ones. So nothing is counted twice, and no result rests on what has changed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.session import Database, UserError, error_message, error_state, keep_value

MOST_FACTS = 1000
MOST_TURNS = 5
LONG_MS = 600_000.0
_SHARDS = (
    "SELECT ARRAY(SELECT s.number FROM pgblend_data.shard AS s ORDER BY s.number) AS numbers,"
    " f.version, current_user::text AS role FROM pgblend_data.shard_front AS f"
)
_ASK = "SELECT a.shard, a.answer FROM pgblend._ask_shards($1, $2) AS a"

_CANCELLED = "57014"
_ELSEWHERE = "40001"  # shards were changed: the search begins again, and knows
_NO_ANSWER = (
    "pgblend shards status tells which ones answer; a role goes to shards by a login of its own:"
    " pgblend shards grant ROLE"
)

Call = Sequence[Any]  # name, arguments
Merge = Callable[[Sequence[Any]], Any]
IsKept = Callable[[Any], bool]


class Changed(Exception):
    """Facts that a search went by are no longer so; `names` are those of the calls."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(sorted(names))
        self.names = names


class Trips:
    """The trips of one search.

    `left_ms` tells how long the search has. A fact is the merged answer to a call, kept by the
    session for the role that asked.
    """

    def __init__(self, db: Database) -> None:
        self.db = db
        row = db.run(_SHARDS, [])[0]
        self.shards: Sequence[int] = row["numbers"]
        self.role: str = row["role"]
        self.version: int = row["version"]
        self.kept: dict[tuple[str, str], Any] = db.kept("shard_facts")
        self.used: dict[str, tuple[Call, Merge, IsKept]] = {}
        self.turns, self.unchecked = 0, False
        self.left_ms = LONG_MS

    def fact(self, call: Call, merge: Merge, is_kept: IsKept = bool) -> Any:
        """Return a fact: as it is known, or else as all shards are asked for it.

        It is kept where `is_kept`: what ends a search before a list is asked for must not be, since
        nothing would check it.
        """
        key = json.dumps(call)
        if (self.role, key) in self.kept:
            self.unchecked = True
            self.used[key] = call, merge, is_kept
            return self.kept[self.role, key]
        (values,) = self.everywhere([call])
        found = merge(values)
        if is_kept(found):
            self.used[key] = call, merge, is_kept
            keep_value(self.kept, (self.role, key), found, MOST_FACTS)
        return found

    def checked(self, calls: Sequence[Call]) -> tuple[list[list[Any]], set[str]]:
        """Ask all shards, and for every fact that was used; return answers, and what has changed.

        Those of the facts are of the same snapshot of each shard as the answers.
        """
        columns = self.everywhere([*(call for call, *_ in self.used.values()), *calls])
        self.unchecked = False
        changed = set()
        for (key, (call, merge, is_kept)), values in zip(self.used.items(), columns, strict=False):
            found = merge(values)
            if self.kept.get((self.role, key)) != found:
                changed.add(call[0])
            self.kept.pop((self.role, key), None)
            if is_kept(found):
                keep_value(self.kept, (self.role, key), found, MOST_FACTS)
        return columns[len(self.used) :], changed

    def look_again(self, changed: set[str]) -> None:
        """Raise Changed where facts have changed; a store that never rests is taken as it is."""
        self.turns += 1
        if changed and self.turns <= MOST_TURNS:
            self.used = {key: one for key, one in self.used.items() if one[0][0] == "hold"}
            raise Changed(changed)

    def settle(self) -> None:
        """Check facts that no list was asked for with."""
        if self.unchecked:
            self.look_again(self.checked([])[1])

    def everywhere(self, calls: Sequence[Call]) -> list[list[Any]]:
        """Ask all shards; return each call's answers by shard."""
        answers = self.ask(dict.fromkeys(self.shards, calls))
        return [list(column) for column in zip(*answers.values(), strict=True)]

    def ask(self, calls: Mapping[int, Sequence[Call]]) -> dict[int, list[Any]]:
        """Make one trip to some shards; return the answers to the calls of each."""
        counted = self.db.kept("shard_trips")
        counted["made"] = counted.get("made", 0) + 1
        envelope = {"left_ms": self.left_ms, "version": self.version}
        trips = [json.dumps({**envelope, "calls": asked}) for asked in calls.values()]
        try:
            rows = self.db.run(_ASK, ["integer[]", "text[]"], list(calls), trips)
        except self.db.Problem as error:
            if error_state(error) in (_CANCELLED, _ELSEWHERE):
                raise
            raise UserError(
                f"a shard did not answer: {error_message(error)}", _NO_ANSWER, "08000"
            ) from error
        answers = {row["shard"]: json.loads(row["answer"]) for row in rows}
        return {number: [taken(one) for one in answers[number]] for number in calls}


def taken(answer: Mapping[str, Any]) -> Any:
    """Return the value of an answer, or raise its error."""
    if "error" in answer:
        sqlstate, message, hint, table = answer["error"]
        raise UserError(message, hint, sqlstate, table_name=table)
    return answer["value"]
