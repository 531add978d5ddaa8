"""What stand-ins say that they need, and statements that tell it (_told of sql/outside.plpgsql)."""

import re
from collections import defaultdict
from collections.abc import Iterable
from secrets import token_hex
from typing import NamedTuple

from pgblend.cli.doors.wire import messages as wire

NEEDS_ANSWER = "PB017"
# The innermost routine of a message's context: no other prints like this, whatever its name.
_BY_A_STAND_IN = re.compile(r'[^\n"]* pgblend\._told\(text,json\)')

# The first letter of a call's digest is its parameter's last; another has what comes beside values.
_SLOTS, _BESIDE = "0123456789abcdef", "beside"
_WRITTEN = "written"  # what was written before the answers: a search is not answered by less
FORGET = "SELECT " + ", ".join(
    f"pg_catalog.set_config('pgblend.told_{one}', '', true)" for one in (*_SLOTS, _BESIDE, _WRITTEN)
)

# How many rows of documents a transaction has written. It is planned once a session. A login may
# have no right to pgblend until its message takes another role: then with each search.
ROWS_WRITTEN = "pgblend._rows_written()"
ROWS_WRITTEN_FOR_ANY = """(
    SELECT pg_catalog.sum(pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid)
        OPERATOR(pg_catalog.+) pg_catalog.pg_stat_get_xact_tuples_updated(c.oid)
        OPERATOR(pg_catalog.+) pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid))
    FROM pg_catalog.pg_class AS c
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    WHERE n.nspname OPERATOR(pg_catalog.=) 'pgblend_data'
        AND c.relname OPERATOR(pg_catalog.=) ANY ('{document,chunk}'))"""
_ANSWERS = "pg_catalog.set_config('pgblend.answers', 'on', true)"


class Told(NamedTuple):
    """The answer to a call: a value and what comes beside it, an error and warnings, as JSON."""

    digest: str
    value: str | None
    beside: str | None

    @property
    def lines(self) -> dict[str, str]:
        """What it is in each parameter that tells it: JSON is written without line breaks."""
        found = {self.digest[0]: self.value, _BESIDE: self.beside}
        return {slot: f"\n{self.digest} {text}" for slot, text in found.items() if text}


def calls_in(answer: Iterable[bytes]) -> list[str]:
    """Return the calls that stand-ins told in an answer; anybody's code may raise PB017."""
    calls = []
    for part in answer:
        info = wire.fields_of(part) if part[:1] == wire.NOTICE else {}
        is_told = info.get("C") == NEEDS_ANSWER and "D" in info
        if is_told and _BY_A_STAND_IN.match(info.get("W", "")):
            calls.append(info["D"])
    return list(dict.fromkeys(calls))


def telling(
    told: Iterable[Told], gathers: bool = False, stays: bool = False, written: str = ROWS_WRITTEN
) -> str:
    """Return the statement that tells answers until the transaction ends.

    With `gathers` stand-ins say what else they need, and go on. What `stays` is for cursors, whose
    searches are those of when they were declared. `written` counts what was written before.
    """
    settings: dict[str, str] = defaultdict(str)
    for one in told:
        for slot, line in one.lines.items():
            settings[slot] += line
    if gathers:
        settings["gathers"] = "on"
    given = [  # what is told is long, and not to be sent back
        f"pg_catalog.set_config('pgblend.told_{name}', {_quoted(value)}, true) IS NULL"
        for name, value in settings.items()
    ]
    if not stays:
        given.append(f"pg_catalog.set_config('pgblend.told_{_WRITTEN}', {written}::text, true)")
    # A session that a pooler may give to others says so in each transaction (_is_answered).
    return f"SELECT {', '.join([*given, _ANSWERS])}"


def _quoted(text: str) -> str:
    """Return a text as a literal without escapes, which what is told is full of."""
    mark = "$pgblend$"
    while (text + mark).find(mark) < len(text):
        mark = f"$pgblend_{token_hex(8)}$"
    return f"{mark}{text}{mark}"
