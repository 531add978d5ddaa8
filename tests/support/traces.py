"""Traces as search_explain gives them, for tests of how they are shown."""

from typing import Any

HOSTILE = (
    '</script><script>document.title="owned"</script>',
    "<img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)' x=\"",
    "{{ 7 * 7 }} {% raw %} </style><b>",
    "שלום \N{RIGHT-TO-LEFT OVERRIDE}gnp.exe עולם",
    "javascript:alert(1)",
    "a\x00b\x1b[31mred\x07\r\nnext",
    "word" * 2000,
    "",
)


def trace(count: int = 3, **changes: Any) -> dict[str, Any]:
    """A hybrid search with this many results; the n-th was n-th by words and moved one up."""
    stages = [
        stage("lexical", 4.0, 100, start=0.1),
        stage("fuzzy", 0.0, None) | {"skipped": "every word is known"},
        stage("embed", 80.0, 1, {"source": "gateway", "model_ms": 83.0}, start=4.1),
        stage("vector", 6.0, 100, start=84.1),
        stage("fuse", 0.5, 150, {"fusion": "rrf"}, start=90.1),
        stage("dedup", 0.2, 140, {"dropped": 10}, start=90.6),
        stage("rerank", 0.0, None) | {"skipped": "mode is fast"},
        stage("page", 0.01, count, start=90.8),
        stage("fetch", 9.0, count, start=90.81),
    ]
    return {
        "query": "roll back",
        "profile": "balanced",
        "mode": "fast",
        "collections": ["manual"],
        "settings": {
            "candidate_depth": {"value": 50, "source": "call"},
            "rrf_k": {"value": 60, "source": "default"},
        },
        "stages": stages,
        "degraded": ["vector: some passages have no vector yet"],
        "total_ms": 100.0,
        "results": [result(rank) for rank in range(1, count + 1)],
    } | changes


def stage(
    name: str,
    ms: float,
    rows: int | None,
    details: dict[str, Any] | None = None,
    start: float | None = None,
) -> dict[str, Any]:
    """One stage of a trace."""
    return {"name": name, "start_ms": start, "ms": ms, "rows": rows, "details": details or {}}


def result(rank: int, **changes: Any) -> dict[str, Any]:
    """One result of a trace: every second one is unknown to the vectors."""
    arms = {"lexical": {"rank": rank, "score": 9.5 / rank, "weight": 1}}
    if rank % 2:
        arms["vector"] = {"rank": 40 + rank, "score": 0.25, "weight": 1}
    return {
        "rank": rank,
        "score": 0.9 / rank,
        "relevance": 0.25 if rank % 2 else None,
        "chunk_id": 100 + rank,
        "document_id": 10 + rank,
        "collection": "manual",
        "uri": f"file:///page-{rank}.html",
        "title": f"Page {rank}",
        "snippet": "to <mark>roll back</mark> &amp; go on",
        "start_line": 1,
        "end_line": 9,
        "arms": arms,
        "parts": {"lexical": 0.6 / rank, "vector": 0.4 / rank, "recency": -0.1 / rank},
        "places": {"fuse": rank + 1, "dedup": rank, "page": rank},
    } | changes


def hostile() -> dict[str, Any]:
    """A trace in which every text is an attack, or at least awkward."""
    results = [
        result(
            rank,
            title=text,
            uri=text,
            collection=text,
            snippet=text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
        )
        for rank, text in enumerate(HOSTILE, start=1)
    ]
    # What the database never gives: a snippet that was not escaped.
    results[0]["snippet"] = HOSTILE[0]
    attack = HOSTILE[0]
    return trace(
        query=attack,
        profile=attack,
        mode="fast",
        collections=[attack, HOSTILE[4]],
        settings={"language": {"value": attack, "source": "call"}},
        degraded=[f"vector: {attack}"],
        stages=[
            stage("lexical", 1, 9, {attack: attack}),
            stage("vector", 0, None) | {"skipped": attack},
            stage("fuse", 1, 9),
        ],
        results=results,
    )
