"""The gateway's cache keeps to its size and drops what was not asked for longest."""

from pgblend.cli.models.cache import EmbeddingCache

VECTOR = bytes(4 * 384)
ENTRY_BYTES = 4 * 384 + 250


def keys(*texts: str) -> list[bytes]:
    return [EmbeddingCache.key("model", None, False, text) for text in texts]


def test_the_least_recently_used_goes_first() -> None:
    cache = EmbeddingCache(2 * ENTRY_BYTES)
    a, b, c = keys("a", "b", "c")
    cache.put(a, VECTOR)
    cache.put(b, VECTOR)
    assert cache.get(a)
    cache.put(c, VECTOR)
    assert [cache.get(key) is not None for key in (a, b, c)] == [True, False, True]
    assert cache.statistics() == {
        "entries": 2,
        "bytes": 2 * ENTRY_BYTES,
        "max_bytes": 2 * ENTRY_BYTES,
        "hits": 3,
        "misses": 1,
    }


def test_the_same_key_is_counted_once() -> None:
    cache = EmbeddingCache(10 * ENTRY_BYTES)
    (a,) = keys("a")
    cache.put(a, VECTOR)
    cache.put(a, VECTOR)
    assert cache.statistics()["bytes"] == ENTRY_BYTES


def test_a_size_of_zero_keeps_nothing() -> None:
    cache = EmbeddingCache(0)
    (a,) = keys("a")
    cache.put(a, VECTOR)
    assert cache.get(a) is None
    assert cache.statistics()["bytes"] == 0


def test_what_was_asked_makes_the_key() -> None:
    asked = [
        ("model", None, False, "text"),
        ("other", None, False, "text"),
        ("model", 384, False, "text"),
        ("model", None, True, "text"),
        ("model", None, False, "text "),
    ]
    assert len({EmbeddingCache.key(*each) for each in asked}) == len(asked)
