"""A lexical index of shards in one file: a part for each, and only for these shards."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.shards import Scale, run_command

FOUND = "SELECT chunk_id, score FROM lexical_search('red wine', 100)"
STATUS = "SELECT sealed, pending FROM lexical_status('books')"
SEGMENTS = "SELECT id FROM pgblend_data.segment ORDER BY 1"


@pytest.fixture
def scale(two_shards: Scale) -> Scale:
    """Documents on both shards."""
    two_shards.clear()
    for place in range(12):
        two_shards.add("books", f"k{place}", f"red wine of house {place}, " + "red " * place)
    two_shards.add("rest", "k", "red wine")
    return two_shards


def reindex(url: str, option: str, file: Path, fails: bool = False) -> str:
    return run_command(url, "reindex", "-c", "books", option, str(file), fails=fails)


@pytest.mark.slow
def test_a_saved_index_is_loaded_on_all_shards(scale: Scale, tmp_path: Path) -> None:
    coordinator, file, own = scale.coordinator, tmp_path / "books.index", tmp_path / "one.index"

    def segments() -> list[Any]:
        return [shard.rows(SEGMENTS) for shard in scale.shards]

    reindex(coordinator.url, "--save", file)
    reindex(scale.one.url, "--save", own)
    with zipfile.ZipFile(file) as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} == {"format.json", "0", "1"}
    expected = coordinator.rows(FOUND)
    assert len(expected) == 13
    for shard in scale.shards:
        shard.rows("TRUNCATE pgblend_data.segment, pgblend_data.posting")
    assert "loaded the lexical index of books: 12 chunks" in reindex(
        coordinator.url, "--load", file
    )
    assert coordinator.rows(FOUND) == expected
    assert coordinator.row(STATUS) == (12, 0)
    assert all(segments())
    before = segments()
    for url, wrong, said in (
        (
            coordinator.url,
            own,
            "was saved without shards, and this is a database with the shards 0, 1",
        ),
        (
            scale.one.url,
            file,
            "was saved with the shards 0, 1, and this is a database without shards",
        ),
        (coordinator.url, damaged(file), "damaged"),
    ):
        assert said in reindex(url, "--load", wrong, fails=True)
    with scale.without(1):
        assert "accepting connections" in reindex(coordinator.url, "--load", file, fails=True)
        gone = tmp_path / "not.there"
        reindex(coordinator.url, "--save", gone, fails=True)
        assert not gone.exists()
    assert segments() == before


def damaged(file: Path) -> Path:
    """Return a file whose last part, that of the last shard, has a bit turned."""
    wrong = file.with_name("damaged")
    content = bytearray(file.read_bytes())
    content[content.rindex(b"PGCOPY")] ^= 1
    wrong.write_bytes(content)
    return wrong
