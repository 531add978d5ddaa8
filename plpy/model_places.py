"""The places that a server has for model calls, as session advisory locks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

STEP_MS = 20
_TAKE = "SELECT k FROM generate_series($1, $2) AS k WHERE pg_try_advisory_lock(k) LIMIT 1"
_GIVE_BACK = "SELECT pg_advisory_unlock($1)"
_SLEEP = "SELECT pg_sleep($1)"


def model_places(
    run: Callable[..., Sequence[Mapping[str, Any]]], places: Mapping[str, float]
) -> tuple[Callable[[int], int | None], Callable[[int | None], None]]:
    """Return take(most_ms), which gives the key of a place, and give_back(key).

    `places` is the setting model_calls: `most` calls at a time (0: any number), the advisory locks
    from `first_key` on, and `wait_ms`, how long a call waits for a place, at most `most_ms`. take
    gives None where there is none in time, and 0 where any number may run. Locks belong to the
    session: no transaction's end and no error gives them back, so the caller must.
    """
    first, most = int(places["first_key"]), int(places["most"])

    def take(most_ms: int) -> int | None:
        if not most:
            return 0
        waited = 0
        while True:
            rows = run(_TAKE, ["bigint", "bigint"], first, first + most - 1)
            if rows:
                key: int = rows[0]["k"]
                return key
            if waited >= min(places["wait_ms"], most_ms):
                return None
            run(_SLEEP, ["double precision"], STEP_MS / 1000)
            waited += STEP_MS

    def give_back(key: int | None) -> None:
        if key:
            run(_GIVE_BACK, ["bigint"], key)

    return take, give_back
