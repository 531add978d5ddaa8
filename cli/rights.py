"""Which of pgblend's roles has a right, as sql/99_access gives it."""

import re
from importlib.resources import files

_DENIED = re.compile(r"permission denied for (schema|function|table|view) (\w+)")
_GRANT = re.compile(r"^GRANT ([^;]*)\sTO (pgblend_(?:reader|writer|admin));", re.MULTILINE)


def role_for(message: str) -> str | None:
    """Name the role that may use what PostgreSQL denies; None where it is not ours.

    A table may be read by one role and written by another: then both.
    """
    denied = _DENIED.search(message)
    if denied is None:
        return None
    kind, name = denied.groups()
    if kind == "schema":
        return "pgblend_reader" if name in ("blend", "pgblend", "pgblend_data") else None
    access = (files("pgblend.sql") / "99_access" / "access.sql").read_text(encoding="utf-8")
    of_name = re.compile(rf"\b(?:blend|pgblend|pgblend_data)\.{name}\b")
    roles = [role for objects, role in _GRANT.findall(access) if of_name.search(objects)]
    return " or ".join(dict.fromkeys(roles)) or None
