"""Keep the joined arrays of segments in a session."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

MOST_ROWS = 4_000_000


def session_view(
    collection_ids: Sequence[int],
    segment_ids: Sequence[int],
    versions: Sequence[str],
    cache: MutableMapping[Any, Any],
    fetch: Callable[[list[int]], Iterable[Mapping[str, Any]]],
    unpack: Callable[[Mapping[str, Any]], dict[str, Any]],
    join: Callable[[Sequence[dict[str, Any]]], dict[str, Any]],
) -> dict[str, Any]:
    """Return the view of these segments of the collections, from `cache` where it has it.

    `versions` change with a segment's dead list, and where an id is given anew.
    `fetch` reads stored segments by id, `unpack` makes arrays of one, `join` a view of several. The
    cache has one view for the same collections, and is emptied first when it holds more than four
    million rows (37 bytes each).
    """
    owner = tuple(collection_ids)
    key = tuple(zip(segment_ids, versions, strict=True))
    kept_key, kept = cache.get(owner, (None, None))
    if kept_key == key:
        view: dict[str, Any] = kept
        return view
    cache.pop(owner, None)
    if sum(len(other["lengths"]) for _, other in cache.values()) > MOST_ROWS:
        cache.clear()
    view = join([unpack(row) for row in (fetch(list(segment_ids)) if segment_ids else [])])
    cache[owner] = key, view
    return view
