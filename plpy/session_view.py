"""Keep the joined arrays of segments in a session."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

MOST_ROWS = 4_000_000


def session_view(
    segment_ids: Sequence[int],
    versions: Sequence[str],
    cache: MutableMapping[Any, Any],
    fetch: Callable[[list[int]], Iterable[Mapping[str, Any]]],
    unpack: Callable[[Mapping[str, Any]], dict[str, Any]],
    join: Callable[[Sequence[dict[str, Any]]], dict[str, Any]],
) -> dict[str, Any]:
    """Return the view of these segments, from `cache` where it has it.

    `versions` change with a segment's dead list, and where an id is given anew.
    `fetch` reads stored segments by id, `unpack` makes arrays of one, `join` a view of several. The
    cache is emptied first when it holds more than four million rows (33 bytes each).
    """
    key = tuple(zip(segment_ids, versions, strict=True))
    view: dict[str, Any] | None = cache.get(key)
    if view is None:
        if sum(len(kept["lengths"]) for kept in cache.values()) > MOST_ROWS:
            cache.clear()
        rows = fetch(list(segment_ids)) if segment_ids else []
        view = cache[key] = join([unpack(row) for row in rows])
    return view
