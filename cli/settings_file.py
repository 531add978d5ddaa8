"""Settings as a file or as environment variables: what `pgblend config import` reads.

settings:              # of the whole database
  rrf_k: 20
profiles:
  mine: {description: words first, settings: {weights: {lexical: 2}}}
collections:           # those that there are
  handbook: {language: german}
"""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pgblend.cli.errors import UserError
from pgblend.cli.parameters import json_or_text, shorten

ENVIRONMENT_PREFIX = "PGBLEND_SETTING_"
_SECTIONS = ("settings", "profiles", "collections")
_PROFILE_KEYS = ("description", "settings")


class _Loader(yaml.SafeLoader):
    """YAML 1.2's idea of plain words: `off` and 2026-01-01 are text; a key given twice is an error.

    By YAML 1.1, `fuzzy: off` would be false.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse what YAML's reader would leave out without a word."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if not isinstance(key, str) or keys.count(key) > 1:
                problem = "is given twice" if isinstance(key, str) else "is no text"
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} {problem}", node.start_mark
                )
        return super().construct_mapping(node, deep)


_PLAIN_WORDS = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _PLAIN_WORDS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), ["t", "f"])


def read_settings_file(path: Path) -> dict[str, Any]:
    """Read a .toml, .yaml or .json file into the three sections, each a dictionary."""
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else yaml.load(text, _Loader)
        json.dumps(found, allow_nan=False)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError, tomllib.TOMLDecodeError) as error:
        raise UserError(
            f"{path} is no {'TOML' if path.suffix == '.toml' else 'YAML or JSON'}: {error}",
            hint="pgblend config export shows what such a file looks like",
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{path} holds a value that JSON cannot: {error}") from error
    return _checked(found, str(path))


def read_settings_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read PGBLEND_SETTING_RRF_K=20 and its like; values are JSON, or text for itself."""
    settings = {}
    for name, value in environment.items():
        if name.startswith(ENVIRONMENT_PREFIX):
            try:
                settings[name.removeprefix(ENVIRONMENT_PREFIX).lower()] = json_or_text(value)
            except ValueError as error:
                raise UserError(f"{name}: {shorten(value)} is not JSON ({error})") from error
    return {"settings": settings, "profiles": {}, "collections": {}}


def write_settings_file(sections: Mapping[str, Any]) -> str:
    """Return the sections as YAML that read_settings_file reads."""
    text: str = yaml.safe_dump(dict(sections), sort_keys=False, allow_unicode=True)
    return text


def _checked(found: Any, path: str) -> dict[str, Any]:
    """Return the sections, an empty one where the file has none; the server checks the values."""
    given = _mapping(found, path, _SECTIONS)
    sections = {name: _mapping(given.get(name), f"{path}: {name}") for name in _SECTIONS}
    for section in ("profiles", "collections"):
        for name, value in sections[section].items():
            known = _PROFILE_KEYS if section == "profiles" else None
            place = f"{path}: {section}.{name}"
            sections[section][name] = given = _mapping(value, place, known)
            if known and not isinstance(given.get("description", ""), str):
                raise UserError(f"{place}.description is {given['description']!r}: expected text")
    return sections


def _mapping(value: Any, place: str, known: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return a mapping, an empty one for nothing, or say what stands there instead."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        expected = f"keys {', '.join(known)}" if known else "names with their values"
        raise UserError(f"{place} is {shorten(json.dumps(value))}: expected {expected}")
    for key in value:
        if known and key not in known:
            raise UserError(f"{place} has no key {shorten(key)}: expected {', '.join(known)}")
    return value
