"""The matrix between two models: what it finds of pairs, and what it says that it loses."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.models.bridge_fit import (
    FOUND,
    LEAST_PAIRS,
    Bridge,
    fit_bridge,
    fitted,
    read_vectors,
    shares_kept,
)
from support.fake_database import FakeDatabase

Vectors = NDArray[np.float32]
PAIRS, WIDTH = 400, 12


def unit(vectors: NDArray[np.float64]) -> Vectors:
    """Vectors of length 1."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def made(seed: int, width: int = WIDTH) -> Vectors:
    """Vectors at random."""
    return unit(np.random.default_rng(seed).normal(size=(PAIRS, width)))


def turned(vectors: Vectors, seed: int = 7) -> Vectors:
    """The same vectors as a model has them whose dimensions are others."""
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(WIDTH, WIDTH)))
    return unit(vectors @ turn)


def estimated(bridge: Bridge, older: Vectors) -> Vectors:
    """What a bridge takes for newer vectors."""
    weights = np.array([json.loads(row) for row in bridge.weights])
    return (older @ weights + np.array(json.loads(bridge.shift))).astype(np.float32)


def sent(vectors: Vectors) -> bytes:
    """Vectors as pgvector sends them: dimensions, two unused bytes, big-endian floats."""
    head = len(vectors[0]).to_bytes(2, "big") + b"\0\0"
    return b"".join(head + row.astype(">f4").tobytes() for row in vectors)


def test_a_turn_is_found_whole() -> None:
    older = made(1)
    newer = turned(older)
    bridge = fitted(older, newer)
    assert (bridge.pairs, len(bridge.weights)) == (PAIRS, WIDTH)
    assert bridge.kept > 0.99
    assert np.allclose(estimated(bridge, older), newer, atol=0.02)


def test_estimates_are_stretched_to_spread_as_scores_do() -> None:
    """Regression draws what it estimates towards the mean, the more, the less it knows."""
    older = made(2)
    noise = np.random.default_rng(8).normal(scale=0.25, size=older.shape)
    newer = unit(turned(older) + noise)
    bridge = fitted(older, newer)
    assert 0.4 < bridge.kept < 1
    spreads = [(newer @ rows.T).std(axis=1) for rows in (newer, estimated(bridge, older))]
    assert np.median(spreads[0] / spreads[1]) == pytest.approx(1, abs=0.05)


def test_a_model_cut_short_has_fewer_dimensions() -> None:
    older = unit(made(2) * 0.6 ** np.arange(WIDTH))  # as such models have them: the first say most
    newer = unit(older[:, : WIDTH // 2].astype(np.float64))
    bridge = fitted(older, newer)
    assert {len(json.loads(row)) for row in bridge.weights} == {WIDTH // 2}
    assert bridge.kept > 0.8


def test_models_that_agree_on_nothing_lose_nearly_all() -> None:
    bridge = fitted(made(3), made(4))
    assert bridge.kept < 0.2
    assert bridge.recall < 0.2


def test_shares_are_of_the_nearest() -> None:
    newer = made(5)
    assert shares_kept(newer, newer) == (1.0, 1.0)
    assert shares_kept(newer, -newer) == (0.0, 0.0)
    assert len(newer) > 2 * FOUND


def test_shares_leave_the_query_itself_out() -> None:
    """Estimates that know each passage and hardly its neighbours: one in five would be itself."""
    newer = made(5, width=300)
    guessed = unit(newer + 5 * made(9, width=300))
    itself, others = (newer @ guessed.T).diagonal(), newer @ guessed.T
    assert np.mean((others > itself[:, None]).sum(axis=1) < FOUND) > 0.8
    assert shares_kept(newer, guessed)[0] < 0.15


def test_vectors_are_read_as_pgvector_sends_them() -> None:
    rows = np.array([[3, 4], [0, 0]], np.float32)
    assert read_vectors(sent(rows), 2).tolist() == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


def test_pairs_are_those_of_both_tables() -> None:
    older = made(6)
    newer = turned(older)
    row = {"pairs": PAIRS, "older": sent(older), "newer": sent(newer)}
    db = FakeDatabase({"embedding_small AS o": lambda most: [row] if most == PAIRS else []})
    read = [read_vectors(sent(rows), PAIRS) for rows in (older, newer)]
    assert fit_bridge(db, "embedding_small", "embedding_large", PAIRS) == fitted(*read)


def test_too_few_pairs_are_an_error() -> None:
    row = {"pairs": LEAST_PAIRS - 1, "older": None, "newer": None}
    db = FakeDatabase({"AS pairs": lambda _: [row]})
    with pytest.raises(ProgramError, match=f"{LEAST_PAIRS - 1} passages .* expected {LEAST_PAIRS}"):
        fit_bridge(db, "embedding_small", "embedding_large", 5000)
