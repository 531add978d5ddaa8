"""Revisions over shards: up, each shard before the coordinator; down, the coordinator alone."""

import pytest

from support.shards import Scale, run_command


@pytest.mark.slow
def test_up_goes_over_the_shards_and_down_leaves_them(fresh_shards: Scale) -> None:
    coordinator, shards = fresh_shards.coordinator, fresh_shards.shards
    coordinator.rows("SELECT ingest_document('books', 'k', 'red wine')")
    for shard in shards:
        shard.rows("COMMENT ON TABLE pgblend_data.alembic_version IS 'another revision'")
    said = run_command(coordinator.url, "migrate", "up")
    assert "shard b0 is upgraded" in said
    assert "shard b1 is upgraded" in said
    known = "SELECT obj_description('pgblend_data.alembic_version'::regclass)"
    assert all("Routines: sha256" in shard.value(known) for shard in shards)
    assert coordinator.column("SELECT source_key FROM lexical_search('wine')") == ["k"]
    url = coordinator.url
    coordinator.connection.close()
    run_command(url, "migrate", "down", "base", "--yes")
    assert sum(shard.value("SELECT count(*) FROM documents") for shard in shards) == 1
