"""Which shards have passages of the collections that are asked about, and how many of them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgblend.plpy.session import Database, keep_value

MOST_KEPT = 100
EVERYWHERE = "{[0,4096)}"
_OWNED = """
    SELECT s.place - 1 AS place, b.shard, count(*) AS buckets
    FROM unnest($1) WITH ORDINALITY AS s (span, place)
    INNER JOIN pgblend_data.shard_bucket AS b ON b.bucket::integer <@ s.span::int4multirange
    GROUP BY s.place, b.shard
"""


class Spread(NamedTuple):
    """How passages are spread over the shards that have any, if collections are of one size.

    `shares` has about which part of them each shard has. `evenly`: over so many shards a collection
    is spread, if all were like the one that has the largest part of it.
    """

    shares: Mapping[int, float]
    evenly: int

    def missing_percent(self, absent: Sequence[int]) -> int:
        """Return about how many of a hundred passages some of the shards have."""
        return round(100 * sum(self.shares[number] for number in absent))


def spread_of(db: Database, shards: Sequence[int], spans: Sequence[str]) -> Spread:
    """Return the spread of collections of some spans: JSON lists of buckets and how many have them.

    None at all: of the whole store. A split gives shards new numbers, and never one again: so the
    numbers of all `shards` tell which map this is, of which a session keeps what it read.
    """
    kept: dict[tuple[str, ...], Spread] = db.kept("shard_spreads")
    key = ",".join(map(str, shards)), *spans
    if key not in kept:
        keep_value(kept, key, _read(db, spans), MOST_KEPT)
    return kept[key]


def _read(db: Database, spans: Sequence[str]) -> Spread:
    buckets, counts = zip(*map(json.loads, spans or [json.dumps([EVERYWHERE, 1])]), strict=True)
    rows = db.run(_OWNED, ["text[]"], list(buckets))
    sizes: Counter[int] = Counter()
    for row in rows:
        sizes[row["place"]] += row["buckets"]
    shares: Counter[int] = Counter()
    parts = [row["buckets"] / sizes[row["place"]] for row in rows]
    weights = [counts[row["place"]] / sum(counts) for row in rows]
    for row, part, weight in zip(rows, parts, weights, strict=True):
        shares[row["shard"]] += part * weight
    return Spread(shares, round(1 / max(parts)))
