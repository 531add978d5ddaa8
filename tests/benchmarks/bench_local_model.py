"""The local model: what it weighs, passages a second, and questions while an ingest embeds.

    python tests/benchmarks/bench_local_model.py [--passages 300] [--busy 0 20] [--model local/…]

First, what the extra takes on disk. Questions go to a gateway as a search sends them, one every
50 ms: first alone, then while two calls at a time embed passages of 200 words, as an ingest does.
`--busy` has other processes compute meanwhile. Compare figures of one run only; processor time
tells more than the clock.
"""

import argparse
import itertools
import multiprocessing
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import httpx
import psutil
from packaging.requirements import Requirement

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from timing import summary

from support.model_provider import GatewayProcess

BATCH = 100
TEXT = "deploy release the of a service query vector passage model wine sea index page in on"
_numbers = itertools.count()


def passage(words: int) -> str:
    """Return a text that was never asked about before."""
    return f"{next(_numbers)} {' '.join(random.choices(TEXT.split(), k=words))}"


def compute() -> None:
    """Keep a processor busy."""
    while True:
        sum(range(100_000))


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Other work on the machine: so many processes that never rest."""
    processes = [multiprocessing.Process(target=compute, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def used(process: psutil.Process) -> float:
    """Return the seconds of processor time of a gateway and its model's process."""
    times = [one.cpu_times() for one in (process, *process.children())]
    return float(sum(of_one.user + of_one.system for of_one in times))


def resident(process: psutil.Process) -> float:
    """Return the megabytes of a gateway and its model's process."""
    return float(sum(one.memory_info().rss for one in (process, *process.children())) / 1e6)


def packages(name: str, extra: str = "") -> set[str]:
    """Return what a package needs, itself included, as far as it is installed."""
    found: set[str] = set()
    more = [(name, extra)]
    while more:
        name, extra = more.pop()
        try:
            needed = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        if name not in found or extra:
            found.add(name)
            wanted = (Requirement(line) for line in needed)
            more += [
                (each.name.lower(), inner)
                for each in wanted
                if each.marker is None or each.marker.evaluate({"extra": extra})
                for inner in each.extras or [""]
            ]
    return found


def disk_megabytes(name: str) -> float:
    """Return the size of a package's files."""
    package = distribution(name)
    paths = (Path(str(file.locate())) for file in package.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


class Bench:
    """One gateway with one model."""

    def __init__(self, gateway: GatewayProcess, model: str) -> None:
        self.client = httpx.Client(base_url=gateway.url, timeout=600)
        self.process = psutil.Process(gateway.pid)
        self.model = model

    def embed(self, texts: list[str]) -> None:
        """Ask for vectors."""
        body: dict[str, Any] = {"model": self.model, "input": texts}
        self.client.post("/v1/embeddings", json=body).raise_for_status()

    def question(self) -> float:
        """Return the milliseconds of one question."""
        start = time.perf_counter()
        self.embed([passage(8)])
        return (time.perf_counter() - start) * 1000

    def questions(self, until: threading.Event, most: int) -> list[float]:
        """Ask one every 50 ms, and return how long each took."""
        times = []
        while len(times) < most and not until.wait(0.05):
            times.append(self.question())
        return times

    def ingest(self, passages: int) -> tuple[float, list[float], float]:
        """Embed; return passages a second, the times of questions meanwhile, processor ms each."""
        done = threading.Event()
        calls = iter([[passage(200) for _ in range(BATCH)] for _ in range(passages // BATCH)])
        guard = threading.Lock()

        def work() -> None:
            while True:
                with guard:
                    texts = next(calls, None)
                if texts is None:
                    return
                self.embed(texts)

        def run() -> None:
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            done.set()

        start, before = time.perf_counter(), used(self.process)
        threading.Thread(target=run).start()
        times = self.questions(done, 10_000)
        done.wait()
        seconds, spent = time.perf_counter() - start, used(self.process) - before
        return passages / seconds, times, spent * 1000 / passages


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--passages", type=int, default=300)
    parser.add_argument("--busy", type=int, nargs="*", default=[0, 20])
    parser.add_argument("--model", default="local/all-minilm-l6-v2")
    parser.add_argument("--models-folder", default="models")
    options = parser.parse_args()
    sizes = {
        name: disk_megabytes(name) for name in packages("pgblend", "local") - packages("pgblend")
    }
    told = ", ".join(f"{name} {size:.0f}" for name, size in sorted(sizes.items()))
    print(f"pgblend[local] takes {sum(sizes.values()):.0f} MB on disk beside pgblend: {told}\n")
    print(
        "| other work | MB | question alone p50 / p95 (ms) | while embedding p50 / p95 |"
        " questions | passages/s | processor ms a passage |"
    )
    print("|---|---|---|---|---|---|---|")
    gateway_options = ("--cache-size", "0", "--models-folder", options.models_folder)
    for count in options.busy:
        with GatewayProcess(*gateway_options) as gateway:
            bench = Bench(gateway, options.model)
            bench.embed(["loads the model"])
            with busy(count):
                alone = summary(bench.questions(threading.Event(), 40))
                rate, times, spent = bench.ingest(options.passages)
            during = summary(times) if times else {"p50": float("nan"), "p95": float("nan")}
            megabytes = resident(bench.process)
        print(
            f"| {count} | {megabytes:.0f} | {alone['p50']:.0f} / {alone['p95']:.0f} |"
            f" {during['p50']:.0f} / {during['p95']:.0f} | {len(times)} | {rate:.1f} |"
            f" {spent:.0f} |"
        )


if __name__ == "__main__":
    main()
