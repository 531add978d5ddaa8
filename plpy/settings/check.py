"""Whether settings that were given are right."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pgblend.plpy.session import Database, Json, UserError
from pgblend.plpy.settings.catalog import CATALOG, Setting
from pgblend.plpy.settings.rules import Known

_LONGEST = 300  # digits of a number: a double precision has no more before its point
_MOST_SHOWN = 200


def read_json(text: str) -> Any:
    """Return what a JSON text stands for; a number that is too large is infinite.

    22023 where it is nested more deeply than Python reads.
    """
    try:
        return json.loads(
            text, parse_int=lambda digits: float(digits) if len(digits) > _LONGEST else int(digits)
        )
    except RecursionError:
        raise UserError(
            f"a value is nested too deeply: {text[:_MOST_SHOWN]}",
            "Settings have a few levels: SELECT * FROM blend.setting_catalog()",
        ) from None


def write_json(value: Json) -> str:
    """Return a value of JSON as the server writes it."""
    return json.dumps(value, ensure_ascii=False)


def value_problem(db: Database, setting: Setting, value: Any) -> str | None:
    """Return what is wrong with a value; nothing is with null, which was not given."""
    if value is None:
        return None
    try:
        problem = setting.rule.problem(value, "")
    except RecursionError:
        return "is nested too deeply: expected a few levels"
    rule = setting.rule
    if problem is None and isinstance(rule, Known):
        is_found = db.run(rule.statement, ["text"], value)[0]["found"]
        return None if is_found else f"expected {rule.expected}"
    return problem


def check_settings(db: Database, settings: Json, scopes: Collection[str], place: str) -> None:
    """Raise 22023 for the first setting that is unknown, out of scope or of a wrong value.

    None and {} are right. `place` names where the settings were given, for the message.
    """
    if not settings and settings in (None, {}):
        return
    if not isinstance(settings, Mapping):
        shown = write_json(settings)[:_MOST_SHOWN]
        raise UserError(
            f"{place} is {shown}: expected a JSON object", 'For example: {"candidate_depth": 200}'
        )
    for name, value in sorted(settings.items()):
        setting = CATALOG.get(name)
        if setting is None or setting.scope not in scopes:
            known = sorted(one.name for one in CATALOG.values() if one.scope in scopes)
            from difflib import get_close_matches  # of few calls

            shown = name[:_MOST_SHOWN]
            nearest = " and ".join(get_close_matches(shown, known, n=2, cutoff=0))
            raise UserError(
                f'{place} has no setting "{shown}"',
                f"The nearest are {nearest}. Known are: {', '.join(known)}",
            )
        problem = value_problem(db, setting, value)
        if problem is not None:
            raise UserError(
                f'{place}: "{name}" is {write_json(value)[:_MOST_SHOWN]}: {problem}',
                f"SELECT * FROM blend.setting_catalog() WHERE name = '{name}'",
            )


def check_size(limits: Mapping[str, int], name: str, argument: str, size: int, unit: str) -> None:
    """Raise 22023 unless an argument is within a limit of the setting limits."""
    most = limits[name]
    if size > most:
        raise UserError(
            f"{argument} has {size} {unit}: expected at most {most}",
            "A member of pgblend_admin raises the setting limits: set_setting('limits', "
            f"'{write_json({name: size})}')",
        )
