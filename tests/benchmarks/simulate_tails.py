"""The time of a search over 1 to 32 shards, drawn from what bench_shards.py measured of each trip.

    python tests/benchmarks/simulate_tails.py [build/bench/shards.json] [GROWTH.json]

A search is one that was measured: its trips in turn, each as long as its slowest shard takes, then
what the coordinator spends. A shard takes the mean of that trip times a ratio of some shard to the
mean of its own trip, so that hard queries stay hard everywhere. The coordinator's time grows with
the number of shards as a line through its medians, those of GROWTH.json if that is given. A round
trip is half a millisecond. With stalls, one call in a thousand takes 200 ms more: a checkpoint, a
slow disk. Shards keep the size that they had, so more of them are more passages.
"""

import json
import sys
from pathlib import Path
from typing import Any

import figures
import numpy as np
from numpy.typing import NDArray

COUNTS = (1, 2, 4, 8, 16, 32)
DRAWS = 100_000
ROUND_TRIP_MS, STALL_MS, STALLS = 0.5, 200, 1e-3
COLUMNS = tuple(
    (f"{name}{of}", "{:.1f}") for of in ("", ", stalls") for name in ("p50", "p95", "p99")
)
Floats = NDArray[np.float64]


def growth(coordinator: dict[str, dict[str, list[float]]], case: str) -> tuple[float, float]:
    """Return the coordinator's time as a line: without shards, and for each."""
    medians = {int(name.split()[0]): np.median(of[case]) for name, of in coordinator.items()}
    slope, start = np.polyfit([*medians], [*medians.values()], 1)
    return float(start), float(slope)


def simulated(
    trips: list[list[list[Any]]], coordinator: Floats, line: tuple[float, float], count: int
) -> dict[str, float]:
    """Return percentiles of searches over so many shards."""
    random = np.random.default_rng(count)
    kinds = {kind for search in trips for kind, *_ in search}
    ratios = {
        kind: np.concatenate(
            [np.array(ms) / np.mean(ms) for search in trips for of, *ms in search if of == kind]
        )
        for kind in kinds
    }
    start, slope = line
    measured = len(trips[0][0]) - 1
    scale = (start + slope * count) / (start + slope * measured)
    per_search = DRAWS // len(trips)
    plain, stalled = [], []
    for search in trips:
        took = random.choice(coordinator, per_search) * scale
        late = np.zeros(per_search)
        for kind, *ms in search:
            of_shards = np.mean(ms) * random.choice(ratios[kind], (per_search, count))
            stalls = random.random((per_search, count)) < STALLS
            took = took + ROUND_TRIP_MS + of_shards.max(axis=1)
            late += (of_shards + stalls * STALL_MS).max(axis=1) - of_shards.max(axis=1)
        plain.append(took)
        stalled.append(took + late)
    found = {}
    for name, times in (("", np.concatenate(plain)), (", stalls", np.concatenate(stalled))):
        for percent in (50, 95, 99):
            found[f"p{percent}{name}"] = float(np.percentile(times, percent))
    return found


def main(measured: str = "build/bench/shards.json", grown: str | None = None) -> None:
    """Print the table, and keep it."""
    samples = json.loads(Path(measured).read_text(encoding="utf-8"))["samples"]
    other = json.loads(Path(grown or measured).read_text(encoding="utf-8"))["samples"]
    name = max(samples["trips"], key=lambda one: int(one.split()[0]))
    size = samples["passages"] // int(name.split()[0])
    rows = [
        {"case": f"{case}, {count} of {size:,}", "system": "simulated"}
        | simulated(
            samples["trips"][name][case],
            np.array(samples["coordinator"][name][case]),
            growth(other["coordinator"], case),
            count,
        )
        for case in ("first", "again")
        for count in COUNTS
    ]
    text = figures.table(rows, ("case",), COLUMNS)
    (figures.FOLDER / "shards_tails.md").write_text(f"{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
