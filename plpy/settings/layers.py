"""The settings in force: call over collection over profile over database over default."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from pgblend.plpy.settings.catalog import SearchSettings, defaults

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
