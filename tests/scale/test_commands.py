"""Commands that do not work on a coordinator yet say so, and change nothing."""

from collections.abc import Iterator

import pytest

from support.shards import Scale, run_command

REFUSED = {
    "entities": ("graph", "entities", "-c", "books"),
    "ingest": ("ingest", __file__, "-c", "books", "--no-embed", "--entities"),
}


@pytest.fixture
def scale(two_shards: Scale) -> Iterator[Scale]:
    """Documents, and settings that name a gateway and a model."""
    settings = {"gateway_url": "http://127.0.0.1:9", "entity_model": "any/model"}
    two_shards.clear()
    for place in range(4):
        two_shards.add("books", f"k{place}", f"red wine of house {place}")
    for name, value in settings.items():
        run_command(two_shards.coordinator.url, "config", "set", name, value)
    yield two_shards
    for name in settings:
        run_command(two_shards.coordinator.url, "config", "reset", name)


@pytest.mark.parametrize("command", REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_work_yet_says_so(scale: Scale, command: tuple[str, ...]) -> None:
    said = run_command(scale.coordinator.url, *command, fails=True)
    assert "does not work on a coordinator of shards yet" in said
    assert "docs/shards.md says what" in said
