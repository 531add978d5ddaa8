"""What a search reads of the lexical index."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

from pgblend.plpy.lexical_view import lexical_view
from pgblend.plpy.live_rows import live_rows
from pgblend.plpy.report_damage import report_damage
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
    Where something had to be read, the search's own Python is told: `warmed_up`. What is damaged
    ends in report_damage.
    """

    def read(routine: str, ids: list[int]) -> Sequence[Mapping[str, Any]]:
        session.get("pgblend_handed", {})["warmed_up"] = True
        return run(f"SELECT * FROM pgblend.{routine}($1)", ["bigint[]"], ids)

    def unpack(segment: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return unpack_segment(segment)
        except ValueError as error:
            report_damage(run, "segment", segment["id"], str(error))

    opened: dict[str, Any] | None = session.get("pgblend_opened")
    if opened is None or reading is None or opened["reading"] != reading:
        state = run("SELECT * FROM pgblend._lexical_state($1)", ["bigint[]"], collection_ids)[0]
        view = session_view(
            collection_ids,
            state["segment_ids"],
            state["versions"],
            session.setdefault("pgblend_kept_views", {}),
            partial(read, "_segment_arrays"),
            unpack,
            lexical_view,
        )
        pending = session_pending(
            state["pending"],
            session.setdefault("pgblend_pending", {}),
            partial(read, "_pending_chunks"),
            partial(report_damage, run, "pending"),
        )
        live = live_rows(view, state["tombstones"])
        opened = {"reading": reading, "view": view, "live": live, "pending": pending}
        session["pgblend_opened"] = opened
    return opened
