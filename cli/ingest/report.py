"""What a run did: counts, failures and what was missing."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.ingest.document import LeftOut

# A file of a million broken lines must not fill the memory: the rest is only counted.
_KEPT_PROBLEMS = 1000
# Of what one reason holds for, so many are named on its line.
_NAMED = 20
_STATUSES = ("added", "replaced", "appended", "updated", "unchanged", "skipped", "failed", "pruned")


@dataclass(frozen=True)
class Problem:
    """A source that was not stored (`failed`), was passed over (`skipped`) or has a flaw.

    A flaw is a part that is not read (`left out`), or a doubt (`warning`).
    """

    kind: str
    source: str
    message: str
    hint: str = ""


@dataclass
class Report:
    """Counts of one run, kept up while it goes on."""

    collection: str
    dry_run: bool = False
    documents: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_STATUSES, 0))
    chunks: int = 0
    tokens: int = 0
    embedded: int = 0
    embedded_others: int = 0
    refused: int = 0
    waiting: int = 0
    cost_usd: float | None = None
    interrupted: bool = False
    problems: list[Problem] = field(default_factory=list)
    reread: Counter[str] = field(default_factory=Counter)
    degraded: list[dict[str, str]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def count(self, status: str, chunks: int = 0) -> None:
        """Count one document; the chunks are those written for it."""
        self.documents[status] += 1
        self.chunks += chunks

    def add(self, problem: Problem) -> None:
        """Keep a problem; failed and skipped sources are counted."""
        if len(self.problems) < _KEPT_PROBLEMS:
            self.problems.append(problem)
        if problem.kind in self.documents:
            self.documents[problem.kind] += 1

    def read_again(self, kind: str) -> None:
        """Count a document that did not change, but what reads its kind of file did."""
        self.reread[kind] += 1

    def degrade(self, part: str, reason: str, hint: str) -> None:
        """Note what the run did without, once."""
        note = {"part": part, "reason": reason, "hint": hint}
        if note not in self.degraded:
            self.degraded.append(note)

    def of_kind(self, kind: str) -> list[Problem]:
        """Return the problems of one kind."""
        return [problem for problem in self.problems if problem.kind == kind]

    def as_json(self) -> dict[str, Any]:
        """Return what --json prints; ingest-report.schema.json describes it."""
        return {
            "collection": self.collection,
            "dry_run": self.dry_run,
            "interrupted": self.interrupted,
            "documents": self.documents,
            "chunks": self.chunks,
            "tokens": self.tokens,
            "embedded": self.embedded,
            "embedded_others": self.embedded_others,
            "refused": self.refused,
            "waiting": self.waiting,
            "reread": dict(self.reread),
            "cost_usd": self.cost_usd,
            "seconds": round(time.monotonic() - self.started, 3),
            **{
                name: [
                    {"source": problem.source, "message": problem.message, "hint": problem.hint}
                    for problem in self.of_kind(kind)
                ]
                for name, kind in (
                    ("failures", "failed"),
                    ("skipped", "skipped"),
                    ("left_out", "left out"),
                    ("warnings", "warning"),
                )
            },
            "degraded": self.degraded,
        }

    def summary(self) -> str:
        """Return the last line for people."""
        done = ", ".join(f"{count:,} {status}" for status, count in self.documents.items() if count)
        parts = [done or "no documents", f"{self.chunks:,} chunk{'' if self.chunks == 1 else 's'}"]
        if self.dry_run:
            parts.append(f"{self.tokens:,} tokens")
            if self.cost_usd is not None:
                parts.append(f"about {self.cost_usd:.4f} US dollars to embed")
        else:
            parts.append(f"{self.embedded:,} embedded")
        if self.embedded_others:
            parts.append(f"{self.embedded_others:,} embedded that waited before")
        if self.refused:
            parts.append(f"{self.refused:,} refused by a model")
        if self.waiting:
            parts.append(f"{self.waiting:,} waiting for a vector")
        parts.append(f"{time.monotonic() - self.started:.1f} s")
        return f"{'would be: ' if self.dry_run else ''}{' · '.join(parts)}"


def told(source: str, left_out: Iterable[LeftOut]) -> list[Problem]:
    """Say what was left out of a source: a problem for all parts of one reason and mend."""
    parts: dict[tuple[str, str], list[str]] = {}
    for each in left_out:
        parts.setdefault((each.reason, each.mend), []).append(each.part)
    return [
        Problem("left out", source, f"{named(names)}: {reason}: {mend}")
        for (reason, mend), names in parts.items()
    ]


def named(names: Iterable[str]) -> str:
    """Name things on one line, each once; of very many the first."""
    each = list(dict.fromkeys(names))
    more = [f"and {len(each) - _NAMED:,} more"] if len(each) > _NAMED else []
    return ", ".join([*each[:_NAMED], *more])
