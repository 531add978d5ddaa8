"""What an embedding space would take on shards: vectors of all, and an index for the largest."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from support.gateway_process import GatewayProcess
from support.model_provider import ModelProvider
from support.shards import Scale, run_command

DOCUMENTS = 24
_FIGURES = (
    "SELECT s.storage, s.table_bytes, s.index_bytes, s.build_bytes, s.build_seconds / 3600"
    " FROM pgblend._storages(%s, %s) AS s ORDER BY s.most_dimensions"
)
_COUNT = "SELECT count(*) FROM chunks WHERE collection = 'books'"


@pytest.fixture
def scale(
    two_shards: Scale, session_gateway: GatewayProcess, session_provider: ModelProvider
) -> Iterator[Scale]:
    """Documents on two shards, and a gateway."""
    session_provider.reset()
    two_shards.clear()
    for number in range(DOCUMENTS):
        two_shards.add("books", f"k{number}", f"text {number} of the number {number}", "A title")
    two_shards.add("rest", "other", "an apple")
    both = two_shards.one, two_shards.coordinator
    for database in both:
        url = psycopg.types.json.Jsonb(session_gateway.url)
        database.rows("SELECT set_setting('gateway_url', %s)", url)
    run_command(two_shards.coordinator.url, "shards", "push")
    yield two_shards
    for database in both:
        database.rows("SELECT reset_setting('gateway_url')")
    run_command(two_shards.coordinator.url, "shards", "push")


@pytest.mark.slow
def test_a_plan_counts_all_and_reckons_the_index_of_the_largest(
    scale: Scale, session_provider: ModelProvider
) -> None:
    def planned(url: str, *more: str) -> dict[str, Any]:
        plan = "space", "plan", "--model", session_provider.model, "--sample", "9", *more
        found: dict[str, Any] = json.loads(run_command(url, *plan, "--json"))
        return found

    def texts() -> list[str]:
        return sorted(
            text.rpartition("\n")[0] for body in session_provider.bodies for text in body["input"]
        )

    one, asked = planned(scale.one.url, "-c", "books"), texts()
    session_provider.reset()
    other = planned(scale.coordinator.url, "-c", "books")
    assert texts() == asked
    same = "model", "dimensions", "collection", "chunks", "tokens", "cost_usd", "limit_hours"
    assert [other[name] for name in same] == [one[name] for name in same]
    assert {**other["sample"], "seconds": 0} == {**one["sample"], "seconds": 0}
    assert one["largest_shard"] is None
    most = max(shard.value(_COUNT) for shard in scale.shards)
    assert other["largest_shard"] == {"shards": 2, "chunks": most}
    assert 0 < most < DOCUMENTS
    figures = [tuple(row[name] for name in _columns()) for row in other["storages"]]
    assert figures == scale.one.rows(_FIGURES, most, one["dimensions"])
    said = "those of the largest of 2 shards, which has"
    assert f"{said} {most} of the chunks" in other["notes"][0]
    assert planned(scale.coordinator.url)["chunks"] == DOCUMENTS + 1
    shown = run_command(scale.coordinator.url, "space", "plan", "--model", session_provider.model)
    assert said in shown


def _columns() -> tuple[str, ...]:
    return "storage", "table_bytes", "index_bytes", "build_bytes", "build_hours"
