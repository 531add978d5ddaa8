"""Do the shards of a coordinator answer, and have they what they should?"""

from collections.abc import Iterator

from pgblend.cli.database import Connection
from pgblend.cli.doctor.check import Check
from pgblend.cli.shards.check import problems_of
from pgblend.cli.shards.places import find_places

_MEND = "see docs/shards.md; once it is mended: pgblend shards check"


def shards(connection: Connection) -> Iterator[Check]:
    """Check each shard, where there are any."""
    places = find_places(connection)
    found: dict[str, list[str]] = {}
    for name, problem in problems_of(connection) if places else ():
        found.setdefault(name, []).append(problem)
    for name, problems in found.items():
        yield Check(f"shard {name}", "problem", ", and ".join(problems), _MEND)
    if places and not found:
        names = ", ".join(place.name for place in places)
        yield Check("shards", "ok", f"{names} answer and have all changes")


CHECKS = (shards,)
