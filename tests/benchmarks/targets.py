"""The one table of `make bench`: pgblend beside what it is compared with, as ratios.

Made of the rows of the other benches. Times are milliseconds of processor time, client and backend
together, where both have them (p50 of the clock otherwise: `clock` then); from eight clients they
are the clock's per search. What could not be measured says why.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from figures import DIMENSIONS, Row, table

COLUMNS = (
    ("ours", "{:,.2f}"),
    ("theirs", "{:,.2f}"),
    ("ratio", "{:.2f}"),
    ("ratio_p95", "{:.2f}"),
    ("target", "{}"),
    ("met", "{}"),
    ("skipped", "not measured: {}"),
)
NAMING = ("what", "passages", "dimensions", "clients", "state", "measure")
OURS, WALK = "pgblend", "bare HNSW"
# Of the table, what only those who work on pgblend ask.
OWN = ("hybrid / bare walk", "hybrid, ", "first search", "private memory")
TEXTSEARCH, APART = "SQL with pg_textsearch", "pg_textsearch and HNSW apart"
IN_ONE = "pg_textsearch + HNSW in one statement"
BY_HAND = "ts_rank_cd + HNSW in one statement"
SMALL = "xquad-de, 240"
FIRST, BARE = "first search", "bare SQL"  # of bench_first_search.py
PRIVATE_MB, MANY_PRIVATE_MB, MANY = 48.0, 60.0, 1_000_000  # the second above so many passages
FIRST_MS, FIRST_GROWTH_MS, TAIL, GROWTH = 150.0, 5.0, 1.5, 1.3


class Pair(NamedTuple):
    """Two systems of a bench, and the most that the ratio should be: p50, and p95.

    `wide` is that of vectors of other dimensions than all-MiniLM-L6-v2's.
    """

    what: str
    ours: str
    theirs: str
    short: float | None = None
    long: float | None = None
    p95: float | None = None
    wide: float | None = None


PAIRS = (
    Pair("hybrid / bare walk, depth 100", OURS, WALK, 2.2),
    Pair("hybrid / bare walk, depth 50", f"{OURS}, depth 50", f"{WALK}, depth 50", 2.7),
    Pair(f"hybrid / {IN_ONE}", OURS, TEXTSEARCH, 0.7, None, 1.0, 0.9),
    Pair("the same, depth 50", f"{OURS}, depth 50", f"{TEXTSEARCH}, depth 50", 0.7, None, 1.0),
    Pair(f"hybrid of two columns / {IN_ONE}", f"{OURS}, two columns", TEXTSEARCH, wide=0.9),
    Pair("hybrid / pg_textsearch and HNSW, a statement each", OURS, APART, 1.25, 1.4),
    Pair(
        "lexical_search, 10 rows / pg_textsearch, 20 rows",
        "lexical_search, 10 rows",
        "pg_textsearch, 20 rows",
        1.5,
    ),
    Pair(
        "lexical_search / pg_textsearch, 100 rows",
        "lexical_search, 100 rows",
        "pg_textsearch, 100 rows",
        2.0,
    ),
    Pair(
        "the same, 10 rows of two columns",
        "lexical_search, 10 rows of two columns",
        "pg_textsearch, 20 rows",
        2.0,
    ),
    Pair(
        "the same, 100 rows of two columns",
        "lexical_search, 100 rows of two columns",
        "pg_textsearch, 100 rows",
        4.0,
    ),
    Pair("vector_search, 10 rows / bare walk of 100", "vector_search, 10 rows", WALK, 1.4),
    Pair(f"hybrid / {BY_HAND}", OURS, "hand-written SQL", wide=1.0),
    Pair(f"hybrid of two columns / {BY_HAND}", f"{OURS}, two columns", "hand-written SQL"),
    Pair("hybrid / LanceDB hybrid", OURS, "LanceDB hybrid"),
    Pair("hybrid / SQLite FTS5 + sqlite-vec", OURS, "SQLite FTS5 + sqlite-vec"),
    Pair("hybrid / langchain-postgres", OURS, "langchain-postgres"),
)
# Only these are asked by several clients.
CROWDED = (
    *("hand-written SQL", TEXTSEARCH, "LanceDB hybrid", "SQLite FTS5 + sqlite-vec"),
    "langchain-postgres",
)


def compared(rows: Iterable[Row]) -> list[Row]:
    """Return the table's rows."""
    rows = list(rows)
    timed = [row for row in rows if row["bench"] == "hybrid" and "passages" in row]
    sizes = sorted({row["passages"] for row in timed if row["text"] == "short"})
    found = [line for case in dict.fromkeys(map(_case, timed)) for line in _of_case(timed, case)]
    found += _small([row for row in rows if row["bench"] == "peers" and row["case"] == SMALL])
    found += _first([row for row in rows if row["bench"] == "first_search" and "cpu" in row])
    narrow = [row for row in timed if row.get("dimensions", DIMENSIONS) == DIMENSIONS]
    return [*found, *_by_size(narrow, sizes)]


def _case(row: Row) -> tuple[str, int, int, int]:
    dimensions = row.get("dimensions", DIMENSIONS)
    return row["text"], row["passages"], row["clients"], dimensions


def markdown(rows: Iterable[Row]) -> str:
    """Return the table."""
    return table(rows, NAMING, COLUMNS)


def beside_peers(rows: Iterable[Row]) -> tuple[str, str]:
    """Return for those who choose what takes pgblend longer than a peer, and the rest."""
    kept = [row for row in rows if not row["what"].startswith(OWN)]
    slower, others = [], []
    for row in kept:
        (slower if row.get("ratio", 0) > 1 else others).append(row)
    columns = [one for one in COLUMNS if one[0] not in ("target", "met")]
    naming = [name for name in NAMING if name != "state"]
    return table(slower, naming, columns), table(others, naming, columns)


def _of_case(rows: Sequence[Row], case: tuple[str, int, int, int]) -> Iterator[Row]:
    text, passages, clients, dimensions = case
    systems = {row["system"]: row for row in rows if _case(row) == case}
    for pair in PAIRS:
        if clients > 1 and (pair.ours != OURS or pair.theirs not in CROWDED):
            continue
        target, p95 = (pair.long, None) if text == "long" else (pair.short, pair.p95)
        if dimensions != DIMENSIONS:
            target, p95 = pair.wide, None
        target, p95 = (None, None) if clients > 1 else (target, p95)
        ours, theirs = systems.get(pair.ours, {}), systems.get(pair.theirs, {})
        line = _line(pair.what, f"{passages:,} {text}", clients, "warm", dimensions)
        yield line | _ratio(ours, theirs, target, p95)
    if clients == 1 and "cpu95" in systems.get(OURS, {}):
        ours = systems[OURS]
        line = _line("hybrid, p95 / p50", f"{passages:,} {text}", 1, "warm", dimensions)
        target = TAIL if text == "short" and dimensions == DIMENSIONS else None
        yield line | _result(ours["cpu95"], ours["cpu"], target)


def _small(rows: Sequence[Row]) -> Iterator[Row]:
    systems = {row["system"]: row for row in rows}
    if systems:
        line = _line("small corpus: hybrid / hand-written SQL", "240 short", 1, "warm")
        yield line | _ratio(systems.get(OURS, {}), systems.get("hand-written SQL", {}), 2.5, None)


def _first(rows: Sequence[Row]) -> Iterator[Row]:
    """Return the first search of a connection, beside a bare walk, and what the corpus adds."""
    of_part = {part: [row for row in rows if row["system"] == part] for part in (FIRST, BARE)}
    for ours, theirs in zip(*of_part.values(), strict=True):
        line = _line("first search / first bare walk", f"{ours['case']} short", 1, "first")
        yield line | _result(ours["cpu"], theirs["cpu"], None)
        yield _line("first search, ms", f"{ours['case']} short", 1, "first") | _most(
            ours["cpu"], FIRST_MS
        )
    if len(of_part[FIRST]) > 1:
        small, *_, large = of_part[FIRST]
        where = f"{small['case']} to {large['case']} short"
        line = _line("first search, ms more", where, 1, "first")
        yield line | _most(large["cpu"] - small["cpu"], FIRST_GROWTH_MS)


def _by_size(rows: Sequence[Row], sizes: Sequence[int]) -> Iterator[Row]:
    """Return private memory by size, and what more passages cost."""
    ours = {
        row["passages"]: row
        for row in rows
        if (row["system"], row["text"], row["clients"]) == (OURS, "short", 1)
    }
    for size in sizes:
        if ours[size].get("private_mb") is not None:
            line = _line("private memory of a session, MB", f"{size:,} short", 1, "warm")
            yield (
                line
                | {"measure": "memory"}
                | _most(ours[size]["private_mb"], PRIVATE_MB if size <= MANY else MANY_PRIVATE_MB)
            )
    if len(sizes) > 1 and "cpu" in ours[sizes[0]]:
        where = f"{sizes[-1]:,} / {sizes[0]:,} short"
        yield _line("hybrid, larger / smaller corpus", where, 1, "warm") | _result(
            ours[sizes[-1]]["cpu"], ours[sizes[0]]["cpu"], GROWTH
        )


def _line(what: str, passages: str, clients: int, state: str, dimensions: int = DIMENSIONS) -> Row:
    measure = "clock" if clients > 1 else "processor"
    line = dict(what=what, passages=passages, clients=str(clients), state=state, measure=measure)
    return line | {"dimensions": f"{dimensions:,}"}


def _ratio(ours: Row, theirs: Row, target: float | None, p95: float | None) -> Row:
    """Compare two rows by what both have."""
    for row, name in ((ours, "ours"), (theirs, "theirs")):
        if "p50" not in row:
            why = row.get("skipped") or row.get("error") or f"no figures of {name}"
            return {"skipped": why}
    if "searches_a_second" in ours:
        return _result(*(1000 / row["searches_a_second"] for row in (ours, theirs)), None)
    kind = ("cpu", "cpu95") if "cpu95" in ours and "cpu95" in theirs else ("p50", "p95")
    found = _result(ours[kind[0]], theirs[kind[0]], target)
    found["ratio_p95"] = ours[kind[1]] / theirs[kind[1]]
    if p95 is not None:
        found["target"] += f" (p95 {p95})"
        found["met"] = "yes" if found["met"] == "yes" and found["ratio_p95"] <= p95 else "no"
    return found | ({"measure": "clock"} if kind[0] == "p50" else {})


def _result(ours: float, theirs: float, target: float | None) -> Row:
    found: Row = {"ours": ours, "theirs": theirs, "ratio": ours / theirs}
    return found if target is None else found | _verdict(found["ratio"], target)


def _most(ours: float, target: float) -> Row:
    return {"ours": ours} | _verdict(ours, target)


def _verdict(found: float, target: float) -> Row:
    return {"target": f"≤ {target:g}", "met": "yes" if found <= target else "no"}
