"""The trace of one search, as `blend.search_explain` gives it, with names and figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pgblend.cli.base import output
from pgblend.cli.search.search_output import is_code, without_markdown

# How names, times and numbers of a trace are written for people.

NOTHING = "\N{EN DASH}"
LABELS = {"strong_signal": "signal", "document": "documents"}


def label(name: str) -> str:
    """Write a stage's or column's name as people read it."""
    return LABELS.get(name, name.replace("_", " "))


def milliseconds(value: float) -> str:
    """Write a time with as many digits as mean something."""
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    if value >= 100:
        return f"{value:.0f} ms"
    return f"{value:.1f} ms" if value >= 0.05 or value == 0 else "<0.1 ms"


def figure(value: float | None) -> str:
    """Write a number with four significant digits, nothing as a dash."""
    return NOTHING if value is None else f"{value:.4g}"


def detail(value: Any) -> str:
    """Write a detail of a stage on one line, numbers with four significant digits."""
    return output.one_line(output.cell_text(_rounded(value)))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    return value


# Stages that bring candidates of their own and run beside each other, in the order of the picture.
# The lists of an expanded query are drawn as one of words and one of vectors.
ARMS = ("lexical", "lexical_variants", "vector", "vector_variants", "fuzzy", "graph", "document")
DECISIONS = ("router", "strong_signal")
WARM_UP = "warm_up"  # what a session does once, before its first search
OTHER = "other"  # the time that no stage took
Span = tuple[float, float]


@dataclass(frozen=True)
class ShownStage:
    """One step of a search: its time in milliseconds, and how many rows it left.

    `rows` is None for a step that only decides; `skipped` and `degraded` say why it did not run and
    what it did without. `spans` are when it ran, as (start, end) in milliseconds from the search's
    beginning. `call` is when a model was at work for it, empty where nobody noted that.
    """

    name: str
    ms: float
    rows: int | None
    skipped: str | None
    degraded: tuple[str, ...]
    details: Mapping[str, Any]
    spans: tuple[Span, ...] = ()
    call: Span | None = None

    @property
    def label(self) -> str:
        """What people read."""
        return label(self.name)

    @property
    def unit(self) -> str:
        """What its rows are."""
        noun = "vector" if self.name == "embed" else "row"
        return noun if self.rows == 1 else f"{noun}s"

    @property
    def reason(self) -> str:
        """Why it did not run or what it did without; empty for a stage that ran as it should."""
        return output.one_line("; ".join(self.degraded) or self.skipped or "")

    @property
    def ran(self) -> bool:
        """Whether it did anything."""
        return self.skipped is None

    @property
    def state(self) -> str:
        """`ran`, `skipped` or `degraded`."""
        if self.degraded:
            return "degraded"
        return "skipped" if self.skipped else "ran"


@dataclass(frozen=True)
class ShownSetting:
    """A setting in force and where it came from."""

    name: str
    value: Any
    source: str

    @property
    def is_default(self) -> bool:
        """Whether nobody set it."""
        return self.source == "default"

    @property
    def text(self) -> str:
        """The value as people write it."""
        return "none" if self.value is None else output.cell_text(self.value)


@dataclass(frozen=True)
class Result:
    """One row of the result: its text, its arms, and its place after each stage, from 1."""

    row: Mapping[str, Any]
    arms: Mapping[str, Mapping[str, Any]]
    places: Mapping[str, int]
    scores: Mapping[str, float]
    parts: Mapping[str, float]

    @property
    def rank(self) -> int:
        """Place in the whole result, from 1."""
        return int(self.row["rank"])

    @property
    def score(self) -> float:
        """Final score in [0, 1]."""
        return float(self.row["score"])

    @property
    def relevance(self) -> float | None:
        """What is comparable between queries; None without a basis for it."""
        return self.row.get("relevance")

    @property
    def profiles(self) -> list[str]:
        """In an experiment: the profiles that gave it."""
        return list((self.row.get("details") or {}).get("profiles") or ())

    @cached_property
    def title(self) -> str:
        """The title on one line, or else the key, or the document's number."""
        named = self.row.get("title") or self.row.get("source_key") or self.row.get("uri")
        return output.one_line(str(named or "")) or f"document {self.row['document_id']}"

    @cached_property
    def location(self) -> str:
        """Where the passage stands: file and lines."""
        name = output.one_line(str(self.row.get("uri") or self.row.get("source_key") or ""))
        start, end = self.row.get("start_line"), self.row.get("end_line")
        if start is None:
            return name
        lines = str(start) if end in (None, start) else f"{start}-{end}"
        return f"{name}:{lines}" if name else f"lines {lines}"

    @property
    def answers(self) -> str:
        """The sub-questions that it answers, on one line."""
        told = (self.row.get("details") or {}).get("answers") or ()
        return "; ".join(map(output.one_line, told))

    @property
    def snippet(self) -> list[tuple[str, bool]]:
        """The snippet in pieces, each with whether it is a hit."""
        snippet = str(self.row.get("snippet") or "")
        name = str(self.row.get("source_key") or self.row.get("uri") or "")
        return output.marked_pieces(snippet if is_code(name) else without_markdown(snippet))

    def rank_in(self, column: str) -> int | None:
        """Its place in an arm's list or after a stage; None where it had none."""
        if column == "result":
            return self.rank
        arm = self.arms.get(column)
        return int(arm["rank"]) if arm else self.places.get(column)


@dataclass(frozen=True)
class Trace:
    """One search from the query to its results."""

    query: str
    profile: str
    mode: str | None
    collections: tuple[str, ...]
    settings: tuple[ShownSetting, ...]
    stages: tuple[ShownStage, ...]
    degraded: tuple[str, ...]
    total_ms: float
    results: tuple[Result, ...]
    rival: str = ""  # the profile that an experiment compares it with

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Trace":
        """Read the document that `search_explain` returns; KeyError for one of another shape."""
        degraded = tuple(str(note) for note in document.get("degraded") or ())
        entries = _with_models(document["stages"], document.get("models_ms") or {})
        stages = tuple(_stage(entry, degraded) for entry in _joined(entries))
        total_ms = float(document.get("total_ms") or 0)
        return cls(
            query=str(document["query"]),
            profile=str(document.get("profile") or ""),
            mode=document.get("mode"),
            collections=tuple(document.get("collections") or ()),
            settings=tuple(
                ShownSetting(name, entry["value"], entry["source"])
                for name, entry in sorted((document.get("settings") or {}).items())
            ),
            stages=(*_left_out(document["stages"], degraded), *stages, *_other(stages, total_ms)),
            degraded=degraded,
            total_ms=total_ms,
            results=tuple(_result(entry) for entry in document["results"]),
            rival=str((document.get("experiment") or {}).get("rival") or ""),
        )

    @property
    def warm_up_ms(self) -> float:
        """Milliseconds of what a session does once; 0 after its first search."""
        return sum(stage.ms for stage in self.stages if stage.name == WARM_UP)

    @property
    def changed_settings(self) -> list[ShownSetting]:
        """Settings that somebody set."""
        return [setting for setting in self.settings if not setting.is_default]

    @cached_property
    def columns(self) -> list[str]:
        """Lists that a result passes through: arms, stages, and the end if none settled it."""
        arms = [name for name in _in_order(r.arms for r in self.results) if name in ARMS]
        arms.sort(key=ARMS.index)
        skipped = {stage.name for stage in self.stages if stage.skipped}
        placed = _in_order(r.places for r in self.results) - skipped - {"page", "fetch"}
        order = [stage.name for stage in self.stages]
        stages = sorted(placed, key=lambda name: order.index(name) if name in order else 99)
        stays = stages and all(r.rank_in(stages[-1]) == r.rank for r in self.results)
        return [*arms, *stages, *([] if stays else ["result"])]


def _in_order(groups: Iterable[Mapping[str, Any]]) -> set[str]:
    return {name for group in groups for name in group}


def _with_models(
    entries: Sequence[Mapping[str, Any]], times_ms: Mapping[str, float]
) -> Sequence[Mapping[str, Any]]:
    """Return the stages with the time of models that were asked before the search.

    Such a stage begins where it did and takes so much longer; what comes after it comes later.
    """
    if not times_ms:
        return entries
    stages = [dict(entry) for entry in entries]
    for name, took in times_ms.items():
        own = next((stage for stage in stages if stage["name"] == name), None)
        if own is None:
            own = {"name": name}
            stages.insert(0, own)
        start = own.get("start_ms") or 0.0
        for stage in stages:
            if stage is not own and stage.get("start_ms", -1.0) >= start:
                stage["start_ms"] += took
        details = {**(own.get("details") or {}), "model_ms": took}
        ms = (own.get("ms") or 0.0) + took
        own |= {"start_ms": start, "ms": ms, "skipped": None, "details": details}
    return stages


def _joined(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the stages, those of an expanded query's lists joined by their way of searching."""
    joined: dict[str, dict[str, Any]] = {}
    for entry in entries:
        name = str(entry["name"])
        if name == "hyde" or "_variant_" in name or "_question_" in name:
            name = "lexical_variants" if name.startswith("lexical") else "vector_variants"
            before = joined.get(name, {"ms": 0, "rows": 0, "details": {}, "spans": ()})
            joined[name] = {
                "name": name,
                "ms": before["ms"] + entry["ms"],
                "rows": before["rows"] + entry["rows"],
                "details": before["details"] | {str(entry["name"]): entry["rows"]},
                "spans": (*before["spans"], *_spans(entry)),
            }
        else:
            joined[name] = {**entry, "spans": _spans(entry)}
    return list(joined.values())


def _spans(entry: Mapping[str, Any]) -> tuple[Span, ...]:
    start = entry.get("start_ms")
    return () if start is None else ((float(start), float(start) + float(entry["ms"])),)


def _stage(entry: Mapping[str, Any], degraded: tuple[str, ...]) -> ShownStage:
    name, rows, spans = str(entry["name"]), entry.get("rows"), entry["spans"]
    details = entry.get("details") or {}
    call = details.get("model_ms")  # up to when its answer was taken, at the stage's end
    return ShownStage(
        name=name,
        ms=float(entry.get("ms") or 0),
        rows=None if rows is None or name in DECISIONS else int(rows),
        skipped=entry.get("skipped"),
        degraded=_reasons(name, degraded),
        details=details,
        spans=spans,
        call=(max(spans[-1][1] - call, 0.0), spans[-1][1]) if spans and call else None,
    )


def _other(stages: Sequence[ShownStage], total_ms: float) -> list[ShownStage]:
    """Return the time that no stage took as one more, so that all add up to the total."""
    left = total_ms - sum(stage.ms for stage in stages)
    if not stages or left <= 0:
        return []
    gaps: list[Span] = []
    end = 0.0
    for start, stop in sorted(span for stage in stages for span in stage.spans):
        if start > end:
            gaps.append((end, start))
        end = max(end, stop)
    is_timed = any(stage.spans for stage in stages)
    spans = (*gaps, *([(end, total_ms)] if end < total_ms else ())) if is_timed else ()
    return [ShownStage(OTHER, left, None, None, (), {}, spans)]


def _left_out(entries: Sequence[Mapping[str, Any]], degraded: tuple[str, ...]) -> list[ShownStage]:
    """Return the arms that did not run at all, because of what the search had to do without."""
    ran = {entry["name"] for entry in entries}
    return [
        ShownStage(name, 0.0, None, reasons[0], reasons, {})
        for name in ARMS
        if name not in ran and (reasons := _reasons(name, degraded))
    ]


def _reasons(name: str, degraded: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(note.partition(": ")[2] for note in degraded if note.startswith(f"{name}: "))


def _result(entry: Mapping[str, Any]) -> Result:
    places = {name: int(place) for name, place in (entry.get("places") or {}).items() if place}
    scores = {
        name: float(score)
        for name, score in (entry.get("scores") or {}).items()
        if score is not None
    }
    arms = entry.get("arms") or {}  # JSON objects of the database have an order of their own
    in_order = sorted(arms, key=lambda name: (*ARMS, name).index(name))
    return Result(
        entry,
        {name: arms[name] for name in in_order},
        places,
        scores,
        entry.get("parts") or {},
    )
