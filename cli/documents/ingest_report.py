"""What a run did: counts, failures and what was missing."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pgblend.cli.documents.document import LeftOut

# A file of a million broken lines must not fill the memory: the rest is only counted.
_KEPT_PROBLEMS = 1000
# Of what one reason holds for, so many are named on its line.
_NAMED = 20
# Four for each call that is measured.
_SAMPLES = 32
_STATUSES = ("added", "replaced", "appended", "updated", "unchanged", "skipped", "failed", "pruned")


@dataclass(frozen=True)
class SourceProblem:
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
    pictures: int = 0
    cost_usd: float | None = None
    vision_usd: float | None = None
    summary_usd: float | None = None
    hours: dict[str, float | None] | None = None
    samples: list[tuple[str, int]] = field(default_factory=list)
    interrupted: bool = False
    problems: list[SourceProblem] = field(default_factory=list)
    reread: Counter[str] = field(default_factory=Counter)
    degraded: list[dict[str, str]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    _offered: int = 0
    _random: Random = field(default_factory=lambda: Random(0))

    def count(self, status: str, chunks: int = 0) -> None:
        """Count one document; the chunks are those written for it."""
        self.documents[status] += 1
        self.chunks += chunks

    def add(self, problem: SourceProblem) -> None:
        """Keep a problem; failed and skipped sources are counted."""
        if len(self.problems) < _KEPT_PROBLEMS:
            self.problems.append(problem)
        if problem.kind in self.documents:
            self.documents[problem.kind] += 1

    def add_samples(self, chunks: Iterable[tuple[str, int]]) -> None:
        """Keep chunks of a dry run to measure a model with: any has the same chance to stay."""
        for chunk in chunks:
            self._offered += 1
            if len(self.samples) < _SAMPLES:
                self.samples.append(chunk)
            elif (place := self._random.randrange(self._offered)) < _SAMPLES:
                self.samples[place] = chunk

    def scale(self, by: float) -> None:
        """Make the counts of a sample those of the whole."""
        self.chunks, self.tokens = round(self.chunks * by), round(self.tokens * by)
        self.pictures = round(self.pictures * by)
        self.documents = {name: round(count * by) for name, count in self.documents.items()}

    def read_again(self, kind: str) -> None:
        """Count a document that did not change, but what reads its kind of file did."""
        self.reread[kind] += 1

    def degrade(self, part: str, reason: str, hint: str) -> None:
        """Note what the run did without, once."""
        note = {"part": part, "reason": reason, "hint": hint}
        if note not in self.degraded:
            self.degraded.append(note)

    def of_kind(self, kind: str) -> list[SourceProblem]:
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
            "pictures": self.pictures,
            "cost_usd": self.cost_usd,
            "vision_usd": self.vision_usd,
            "summary_usd": self.summary_usd,
            "hours": self.hours,
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

    def expected(self) -> list[str]:
        """Say what a run is expected to cost and take."""
        costs = (
            (self.cost_usd, "to embed"),
            (self.vision_usd, f"to have {self.pictures:,} picture{'s'[: self.pictures != 1]} read"),
            (self.summary_usd, "at most to sum up documents"),
        )
        told = [f"about {cost:.4f} US dollars {what}" for cost, what in costs if cost is not None]
        return told + ([f"{time_told(self.hours)} to embed"] if self.hours else [])

    def summary(self) -> str:
        """Return the last line for people."""
        done = ", ".join(f"{count:,} {status}" for status, count in self.documents.items() if count)
        parts = [done or "no documents", f"{self.chunks:,} chunk{'' if self.chunks == 1 else 's'}"]
        if self.dry_run:
            parts.append(f"{self.tokens:,} tokens")
            parts += self.expected()
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


def time_told(hours: dict[str, float | None]) -> str:
    """Say hours for people, with what a sample leaves open."""
    mean, low, high = (hours[name] or 0.0 for name in ("mean", "low", "high"))
    if mean < 1 / 60:
        return "less than a minute"
    size, unit = (1.0, "hours") if mean >= 1 else (60.0, "minutes")
    between = f" ({low * size:.1f} to {high * size:.1f})" if hours["high"] else ""
    return f"about {mean * size:.1f} {unit}{between}"


def told(source: str, left_out: Iterable[LeftOut]) -> list[SourceProblem]:
    """Say what was left out of a source: a problem for all parts of one reason and mend."""
    parts: dict[tuple[str, str], list[str]] = {}
    for each in left_out:
        parts.setdefault((each.reason, each.mend), []).append(each.part)
    return [
        SourceProblem("left out", source, f"{named(names)}: {reason}: {mend}")
        for (reason, mend), names in parts.items()
    ]


def named(names: Iterable[str]) -> str:
    """Name things on one line, each once; of very many the first."""
    each = list(dict.fromkeys(names))
    more = [f"and {len(each) - _NAMED:,} more"] if len(each) > _NAMED else []
    return ", ".join([*each[:_NAMED], *more])


def read_though_hidden(what: str, names: Iterable[object]) -> tuple[str, ...]:
    """Say that parts are read that their program hides; nothing where there are none."""
    each = [str(name) for name in names]
    return (f"hidden {what} are read as well: {named(each)}",) if each else ()
