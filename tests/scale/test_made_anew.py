"""A collection that is removed and made anew while documents of it are on their way to shards.

The new one has another id, so its documents have other buckets: what was routed by the old one
would stand where no search looks.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path

import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.base.places import push_front
from pgblend.cli.shards.members import places_of
from support.database import Database
from support.shards import Scale, run_command
from support.waiting import wait_until

_ID = "SELECT c.id FROM pgblend_data.collection AS c WHERE c.name = 'brief'"
_KEYS = (
    "SELECT d.source_key FROM pgblend_data.document AS d"
    f" WHERE d.collection_id = ({_ID}) ORDER BY 1"
)
_MAP = "SELECT b.bucket, b.shard FROM pgblend_data.shard_bucket AS b"
_WAITS = """
    SELECT EXISTS (SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE %s)
"""


@pytest.fixture
def scale(writing_shards: Scale) -> Iterator[Scale]:
    """A coordinator of three shards, and a collection of its own."""
    run_command(writing_shards.coordinator.url, "collection", "add", "brief")
    yield writing_shards
    run_command(writing_shards.coordinator.url, "collection", "remove", "brief", "--yes")


@contextmanager
def made_anew(scale: Scale, table: str, mode: str, statement: str) -> Iterator[None]:
    """Hold a table of the first shard; once a statement waits for it, make the collection anew.

    All shards know of it before the statement goes on.
    """
    front, first = scale.coordinator, scale.shards[0]
    with connect(first.url) as holder:
        with holder.transaction():
            holder.execute(f"LOCK TABLE pgblend_data.{table} IN {mode} MODE".encode())
            yield
            wait_until(lambda: first.value(_WAITS, f"%{statement}%"))
            front.rows("SELECT remove_collection('brief'), add_collection('brief')")
            for place in places_of(front.connection)[1:]:
                push_front(front.connection, place)
            version = front.value("SELECT version FROM pgblend_data.shard_front")
            given = json.dumps(front.value("SELECT pgblend._front()"))
            holder.execute("SELECT pgblend._apply_front(0, %s, %s)", [version, given])
        front.rows("UPDATE pgblend_data.shard SET pushed_version = %s WHERE number = 0", version)


def keys_of_first(scale: Scale, count: int) -> list[str]:
    """Return keys that are of the first shard by the collection's id, and of others by the next."""
    shard_of = dict(scale.coordinator.rows(_MAP))
    number = scale.coordinator.value(_ID)

    def shard(collection_id: int, key: str) -> int:
        return int(shard_of[int(md5(f"{collection_id}:{key}".encode()).hexdigest()[:3], 16)])

    keys = (f"f{place}.txt" for place in range(1000))
    return [key for key in keys if shard(number, key) == 0 != shard(number + 1, key)][:count]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "mode", "waits"),
    [("shard_self", "ACCESS EXCLUSIVE", "_carry_out"), ("document", "SHARE", "_carry_out")],
)
def test_a_document_comes_to_the_shard_of_the_new_one(
    scale: Scale, table: str, mode: str, waits: str
) -> None:
    (key,), before = keys_of_first(scale, 1), scale.coordinator.value(_ID)
    with connect(scale.coordinator.url) as other, ThreadPoolExecutor(1) as pool:
        with made_anew(scale, table, mode, waits):
            call = "SELECT status FROM ingest_document('brief', %s, 'red wine')"
            told = pool.submit(Database(other).value, call, key)
        assert told.result(60) == "added"
    assert scale.coordinator.value(_ID) == before + 1
    assert [key in shard.column(_KEYS) for shard in scale.shards].count(True) == 1
    assert scale.shards[0].column(_KEYS) == []
    run_command(scale.coordinator.url, "shards", "check")


@pytest.mark.slow
def test_an_ingest_ends_with_an_error_and_leaves_nothing(scale: Scale, tmp_path: Path) -> None:
    keys, url = keys_of_first(scale, 6), scale.coordinator.url
    for key in keys:
        (tmp_path / key).write_text(f"red wine of {key}")
    ingest = "ingest", str(tmp_path), "-c", "brief", "--no-embed"
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", url, *ingest]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        with made_anew(scale, "document", "SHARE", "_store_staged"):
            pass
        _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "collection 'brief' was removed meanwhile" in said
    assert [shard.column(_KEYS) for shard in scale.shards] == [[], [], []]
    run_command(url, *ingest)
    assert sorted(key for shard in scale.shards for key in shard.column(_KEYS)) == sorted(keys)
    run_command(url, "shards", "check")
