"""What a search reads of the lexical index."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from pgblend.plpy.lexical_view import lexical_view
from pgblend.plpy.live_rows import live_rows
from pgblend.plpy.session_pending import session_pending
from pgblend.plpy.session_view import session_view
from pgblend.plpy.unpack_segment import unpack_segment


def open_index(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    session: MutableMapping[str, Any],
    collection_ids: Sequence[int],
    reading: str | None,
) -> dict[str, Any]:
    """Return the `view` of the collections' segments, which rows are `live`, and what is `pending`.

    `run` executes (statement, types, *values), `session` keeps what was read. Callers with the same
    `reading`, which is made for one snapshot and told nobody else, get what the first of them read.
    """
    opened: dict[str, Any] | None = session.get("pgblend_opened")
    if opened is None or reading is None or opened["reading"] != reading:
        state = run("SELECT * FROM pgblend._lexical_state($1)", ["bigint[]"], collection_ids)[0]
        view = session_view(
            collection_ids,
            state["segment_ids"],
            state["versions"],
            session.setdefault("pgblend_kept_views", {}),
            lambda ids: run("SELECT * FROM pgblend._segment_arrays($1)", ["bigint[]"], ids),
            unpack_segment,
            lexical_view,
        )
        pending = session_pending(
            state["pending"],
            session.setdefault("pgblend_pending", {}),
            lambda ids: run("SELECT * FROM pgblend._pending_chunks($1)", ["bigint[]"], ids),
        )
        live = live_rows(view, state["tombstones"])
        opened = {"reading": reading, "view": view, "live": live, "pending": pending}
        session["pgblend_opened"] = opened
    return opened
