"""What the gateway adds to a model's own time, and what its caches save.

    python tests/benchmarks/bench_gateway.py [CALLS]

A provider for tests answers at once, so the time of a call to it is the floor: HTTP and JSON. The
gateway's own time is what comes on top; on a busy machine its processor time tells more. All
figures are of one run on one machine: compare ratios.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.model_provider import DEFAULT_TOKEN, GatewayProcess, ModelProvider

TEXT = "how do I deploy to production"
DOCUMENTS = [f"passage {number} on how to deploy to production" * 5 for number in range(20)]
Body = Callable[[object], dict[str, Any]]


def embedding(nonce: object) -> dict[str, Any]:
    return {"model": ModelProvider.model, "input": f"{TEXT} {nonce}"}


def chat(nonce: object) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"{TEXT} {nonce}"}]
    return {"model": ModelProvider.chat_model, "messages": messages}


def rerank(nonce: object) -> dict[str, Any]:
    model = ModelProvider.rerank_model
    return {"model": model, "query": f"{TEXT} {nonce}", "documents": DOCUMENTS}


def expand(nonce: object) -> dict[str, Any]:
    return {"model": ModelProvider.chat_model, "query": f"{TEXT} {nonce}"}


# Name, path of the gateway, path of the provider (None: it has none), the body, whether it is kept.
CALLS: list[tuple[str, str, str | None, Body, bool]] = [
    ("embeddings", "/v1/embeddings", "/v1/embeddings", embedding, True),
    ("chat", "/v1/chat/completions", "/v1/chat/completions", chat, False),
    ("rerank, 20 documents", "/v1/rerank", "/v2/rerank", rerank, True),
    ("expand", "/v1/expand", None, expand, True),
]


def milliseconds(client: httpx.Client, url: str, body: Body, nonces: list[object]) -> list[float]:
    """Return the time of each call; the first ten only warm up."""
    times = []
    for nonce in nonces:
        content = body(nonce)
        start = time.perf_counter()
        client.post(url, json=content).raise_for_status()
        times.append((time.perf_counter() - start) * 1000)
    return times[10:]


def watched(
    process: psutil.Process, client: httpx.Client, url: str, body: Body, nonces: list[object]
) -> tuple[list[float], float]:
    """Return the time of each call, and the gateway's processor time for one."""
    milliseconds(client, url, body, [f"warm {number}" for number in range(20)])
    before = process.cpu_times()
    times = milliseconds(client, url, body, nonces)
    after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    return times, used * 1000 / len(nonces)


def main(calls: int) -> None:
    """Print a table."""
    headers = {"Authorization": f"Bearer {DEFAULT_TOKEN}"}
    print(
        "| call (ms) | provider p50 | gateway p50 / p95 | on top | processor |"
        " cached p50 | processor |"
    )
    print("|---|---|---|---|---|---|---|")
    with (
        ModelProvider() as provider,
        GatewayProcess(provider=provider) as gateway,
        httpx.Client(timeout=60, headers=headers) as client,
    ):
        for name, path, provider_path, body, is_kept in CALLS:
            process = psutil.Process(gateway.pid)
            new: list[object] = list(range(calls + 10))
            asked, used = watched(process, client, gateway.url + path, body, new)
            bare = [float("nan")]
            if provider_path:
                bare = milliseconds(client, provider.url + provider_path, body, new)
            same: list[object] = [0] * (calls + 10)
            cached, used_cached = watched(process, client, gateway.url + path, body, same)
            own, floor = statistics.median(asked), statistics.median(bare)
            p95 = statistics.quantiles(asked, n=20)[-1]
            hit = f"{statistics.median(cached):.2f} | {used_cached:.2f}" if is_kept else "- | -"
            print(
                f"| {name} | {floor:.2f} | {own:.2f} / {p95:.2f} | {own - floor:.2f} | {used:.2f} "
                f"| {hit} |"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
