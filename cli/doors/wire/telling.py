"""Statements that tell stand-ins their answers (_told of sql/outside.py), and take them back."""

from collections import defaultdict
from collections.abc import Iterable

_SLOTS = "0123456789abcdef"  # the first letter of a call's digest is its parameter's last
FORGET = "SELECT " + ", ".join(
    f"pg_catalog.set_config('pgblend.told_{one}', '', true)" for one in _SLOTS
)

_ANSWERS = "pg_catalog.set_config('pgblend.answers', 'on', true)"


def telling(told: Iterable[str], gathers: bool = False) -> str:
    """Return the statement that tells answers until the transaction ends.

    With `gathers` stand-ins say what else they need, and go on.
    """
    slots: dict[str, list[str]] = defaultdict(list)
    for one in told:
        slots[one[1]].append(one)
    settings = {slot: "{" + ", ".join(answers) + "}" for slot, answers in slots.items()}
    settings |= {"gathers": "on"} if gathers else {}
    given = [
        f"pg_catalog.set_config('pgblend.told_{name}', {_quoted(value)}, true)"
        for name, value in settings.items()
    ]
    # A session that a pooler may give to others says so in each transaction (_is_answered).
    return f"SELECT {', '.join([*given, _ANSWERS])}"


def _quoted(text: str) -> str:
    """Return a text as a literal, whatever standard_conforming_strings is."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
