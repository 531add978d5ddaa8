"""A gateway that is late in a row is left alone for a moment, then asked again."""

from typing import Any

import pytest

from pgblend.plpy.models.limits import MOST_KEPT, LateGateway

Memory = dict[tuple[str, str, str], dict[str, float]]
REQUEST = {"role": "reader", "url": "http://gateway", "path": "/v1/embeddings", "timeout_ms": 2000}


class Session:
    """Its memory and its clock."""

    def __init__(self) -> None:
        self.memory: Memory = {}
        self.now = 100.0

    def rests(self, **other: Any) -> dict[str, str] | None:
        return self.call(**other).rest()

    def learn(self, *is_late: bool, **other: Any) -> None:
        for each in is_late:
            self.call(**other).learn(each)

    def call(self, **other: Any) -> Any:
        return LateGateway(self.memory, REQUEST | other, lambda: self.now)


@pytest.fixture
def session() -> Session:
    return Session()


def test_three_late_calls_in_a_row(session: Session) -> None:
    session.learn(True, True)
    assert session.rests() is None
    session.learn(True)
    assert session.rests() == {
        "problem": "the model gateway at http://gateway gave no answer in time 3 times in a row"
        " and is left alone for 5 s",
        "hint": "Look at its log, or raise the setting timeouts_ms.",
    }


def test_an_answer_between_them_ends_the_row(session: Session) -> None:
    session.learn(True, True, False, True, True)
    assert session.rests() is None


@pytest.mark.parametrize(("late", "seconds"), [(3, 5), (4, 10), (6, 40), (7, 60), (30, 60)])
def test_each_rest_is_longer_up_to_a_minute(session: Session, late: int, seconds: int) -> None:
    session.learn(*[True] * late)
    session.now += seconds - 0.1
    assert session.rests()
    session.now += 0.2
    assert session.rests() is None


def test_after_the_rest_an_answer_ends_it_all(session: Session) -> None:
    session.learn(True, True, True)
    session.now += 6
    session.learn(False)
    assert session.memory == {}


@pytest.mark.parametrize("other", [{"path": "/v1/rerank"}, {"url": "http://other"}])
def test_other_paths_and_addresses_are_asked(session: Session, other: dict[str, str]) -> None:
    session.learn(True, True, True)
    assert session.rests(**other) is None


def test_who_waits_much_longer_is_let_through(session: Session) -> None:
    session.learn(True, True, True)
    assert session.rests(timeout_ms=3999)
    assert session.rests(timeout_ms=4000) is None


def test_short_waits_prove_nothing_to_those_that_are_longer(session: Session) -> None:
    session.learn(True, True)
    session.learn(*[True] * 5, timeout_ms=50)
    assert session.rests() is None
    session.learn(True)
    assert session.rests()
    session.learn(True, timeout_ms=9000)  # a longer wait in vain begins a row of its own
    assert session.rests() is None


def test_the_memory_is_bounded(session: Session) -> None:
    for number in range(3 * MOST_KEPT):
        session.learn(True, url=f"http://gateway-{number}")
        assert len(session.memory) <= MOST_KEPT
