"""Settings that were given: whether they are right, and which of several layers holds."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from pgblend.plpy.base.catalog import CATALOG, SearchSettings, Setting, defaults
from pgblend.plpy.base.session import Database, Json, ProgramError
from pgblend.plpy.base.setting_rules import KnownValue, nearest

# The settings in force: call over collection over profile over database over default.

_OF_AGENT = {"context_chars": {"before": 500, "after": 500}}
Layer = Mapping[str, Any]


def in_force(default: Any, value: Any) -> Any:
    """Return a default with the value that was set over it.

    Objects are merged key by key, but one with a key "kind" is replaced. A number stands for each
    key.
    """
    if not isinstance(default, Mapping) or "kind" in default:
        return value
    if isinstance(value, Mapping):
        return {**default, **value}
    return dict.fromkeys(default, value)


class Layers(NamedTuple):
    """What is set for the database, by a profile and by the only collection searched."""

    of_database: Layer
    of_profile: Layer
    of_collection: Layer

    def given(self, options: Layer) -> Iterator[tuple[str, Layer]]:
        """Return sources and layers, the weakest first."""
        yield "database", self.of_database
        yield "profile", self.of_profile
        yield "collection", self.of_collection
        yield "call", options

    def resolved(self, options: Layer) -> dict[str, Any]:
        """Return every search setting in force for a call; what is null was not given.

        The mode agent has defaults of its own: 500 characters around each passage.
        """
        found = defaults("search")
        layers = [layer for _, layer in self.given(options)]
        modes = [layer["mode"] for layer in layers if layer.get("mode") is not None]
        if modes and modes[-1] == "agent":
            layers = [_OF_AGENT, *layers]
        for layer in layers:
            for name, value in layer.items():
                if value is not None and name in found:
                    found[name] = in_force(found[name], value)
        return found

    def sources(self, options: Layer) -> dict[str, str]:
        """Return where each search setting in force comes from; the strongest that gave any key."""
        found = dict.fromkeys(defaults("search"), "default")
        for source, layer in self.given(options):
            named = [name for name, value in layer.items() if value is not None and name in found]
            found.update(dict.fromkeys(named, source))
        return found

    def server(self, name: str) -> Any:
        """Return a setting of the scope server in force."""
        default, value = defaults("server")[name], self.of_database.get(name)
        return default if value is None else in_force(default, value)


def as_mapping(settings: SearchSettings) -> dict[str, Any]:
    """Return settings by name."""
    return {one.name: getattr(settings, one.name) for one in fields(settings)}


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
        raise ProgramError(
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
    if problem is None and isinstance(rule, KnownValue):
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
        raise ProgramError(
            f"{place} is {shown}: expected a JSON object", 'For example: {"candidate_depth": 200}'
        )
    for name, value in sorted(settings.items()):
        setting = CATALOG.get(name)
        if setting is None or setting.scope not in scopes:
            known = sorted(one.name for one in CATALOG.values() if one.scope in scopes)
            told = " and ".join(nearest(name, known))
            raise ProgramError(
                f'{place} has no setting "{name[:_MOST_SHOWN]}"',
                f"The nearest are {told}. Known are: {', '.join(known)}",
            )
        problem = value_problem(db, setting, value)
        if problem is not None:
            raise ProgramError(
                f'{place}: "{name}" is {write_json(value)[:_MOST_SHOWN]}: {problem}',
                f"SELECT * FROM blend.setting_catalog() WHERE name = '{name}'",
            )


def check_size(limits: Mapping[str, int], name: str, argument: str, size: int, unit: str) -> None:
    """Raise 22023 unless an argument is within a limit of the setting limits."""
    most = limits[name]
    if size > most:
        raise ProgramError(
            f"{argument} has {size} {unit}: expected at most {most}",
            "A member of pgblend_admin raises the setting limits: set_setting('limits', "
            f"'{write_json({name: size})}')",
        )
