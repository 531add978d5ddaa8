"""Weights tried on a judged set: what is read, kept for a caller, and measured in halves."""

from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from pgblend.cli.doors.page import tuning
from pgblend.cli.doors.page.tuning import Tuner
from pgblend.cli.measure.arm_candidates import is_tuned_on

SETTINGS = {
    "weights": {"lexical": 1.0, "vector": 2.0, "fuzzy": 3.0},
    "candidate_depth": 50,
    "feedback": {"passages": 0},
}
DAY = datetime(2026, 1, 1, tzinfo=UTC)
ARMS = {"lexical": 1.0, "vector": 2.0}


@dataclass
class FakePool:
    key: str
    source_keys: tuple[int, ...] = ()


class FakeDoor:
    """Has the settings, and questions of a set."""

    def __init__(self, count: int) -> None:
        self.questions = [{"id": number, "judged_at": DAY} for number in range(count)]

    async def run(self, caller: Any, *queries: Any) -> list[Any]:
        return [[{"settings": SETTINGS}], self.questions]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have questions read at once, and nDCG be the weight of vectors; return what is read."""
    found: list[int] = []

    async def pool(door: Any, caller: Any, name: str, settings: Any, question: Any) -> FakePool:
        found.append(question[0])
        return FakePool(f"q{question[0]}")

    monkeypatch.setattr(tuning, "_pool", pool)
    monkeypatch.setattr(tuning, "mean_ndcg", lambda pools, tried: tried["weights"]["vector"])
    return found


async def tuned(tuner: Tuner, door: FakeDoor, token: str = "ann", name: str = "mine") -> Any:
    caller: Any = SimpleNamespace(token=token)
    given = {"judged_set": name, "weights": {"vector": 9.0}}
    return await tuner.tune(door, caller, given)  # type: ignore[arg-type]


async def test_both_halves_are_measured_and_read_once(read: list[int]) -> None:
    tuner, door = Tuner(), FakeDoor(9)
    answer = await tuned(tuner, door)
    own = sum(is_tuned_on(f"q{number}", 0.5, 0) for number in range(9))
    assert (answer["questions"], answer["read"]) == (9, 9)
    assert answer["weights"].items() >= ARMS.items()
    assert answer["halves"] == [
        {"held_back": False, "questions": own, "ndcg": 9.0, "before": 2.0},
        {"held_back": True, "questions": 9 - own, "ndcg": 9.0, "before": 2.0},
    ]
    assert await tuned(tuner, door) == answer
    assert read == [*range(9)]
    door.questions[4]["judged_at"] = datetime(2026, 1, 2, tzinfo=UTC)
    await tuned(tuner, door)
    assert read[9:] == [4]  # judged again since
    await tuned(tuner, door, token="bob")
    assert read[10:] == [*range(9)]  # what one caller may see is not shown to another


async def test_a_call_reads_for_a_while_and_the_next_goes_on(
    read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "_READ_SECONDS", -1.0)
    tuner, door = Tuner(), FakeDoor(6)
    assert [(await tuned(tuner, door))["read"] for _ in range(3)] == [4, 6, 6]
    assert read == [*range(6)]


async def test_a_set_without_questions_has_no_means(read: list[int]) -> None:
    halves = (await tuned(Tuner(), FakeDoor(0)))["halves"]
    assert [one["ndcg"] for one in halves] == [one["before"] for one in halves] == [None, None]


async def test_few_sets_are_kept_and_not_for_long(
    read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(tuning, "time", SimpleNamespace(monotonic=lambda: now))
    tuner, door = Tuner(), FakeDoor(1)
    for name in "abcdef":
        now += 1
        await tuned(tuner, door, name=name)
    assert {key[1][0] for key in tuner._kept} == set("bcdef")
    now += 700
    await tuned(tuner, door, name="f")
    assert {key[1][0] for key in tuner._kept} == {"f"}
    assert len(read) == 7
