"""Log lines of the gateway as JSON, and the options on how it treats providers."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import suppress

import click
import pytest
from click.testing import CliRunner

from pgblend.cli.models.gateway_options import Policy, limit_options, read_policy
from pgblend.cli.models.json_log import log_to
from pgblend.cli.models.metrics import CallRecord, Metrics
from pgblend.cli.models.openai_errors import GatewayError
from pgblend.cli.models.retry import Observer

LOGGER = "pgblend.cli.models"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    loggers = [logging.getLogger(name) for name in (LOGGER, "uvicorn.error")]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    yield io.StringIO()
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_what_was_raised_is_named_but_not_quoted(stream: io.StringIO) -> None:
    log_to(stream, "info")
    try:
        raise ValueError("the secret wine list")
    except ValueError:
        logging.getLogger(f"{LOGGER}.local_weights").exception("failed", extra={"fields": {"n": 1}})
    line = json.loads(stream.getvalue())
    assert (line["level"], line["event"], line["n"]) == ("error", "failed", 1)
    assert line["error"] == "ValueError"
    assert line["where"][0].startswith("test_gateway_log_and_policy.py:")
    assert "wine" not in stream.getvalue()


def test_the_level(stream: io.StringIO) -> None:
    log_to(stream, "warning")
    logging.getLogger(LOGGER).info("nothing")
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "ok"),
        (GatewayError(504, "provider_timeout", "late"), "provider_timeout"),
        (RuntimeError("the secret wine list"), "failed"),
        (KeyboardInterrupt(), "cancelled"),
    ],
)
def test_how_calls_end(stream: io.StringIO, error: BaseException | None, outcome: str) -> None:
    log_to(stream, "info")
    kept: list[CallRecord] = []
    observer = Observer(Metrics(), kept.append)
    record = CallRecord("answer", "m", "openai", attempts=1)
    with suppress(GatewayError, RuntimeError, KeyboardInterrupt), observer.observe(record):
        if error:
            raise error
    assert [call.outcome for call in kept] == [outcome]
    assert json.loads(stream.getvalue())["outcome"] == outcome
    counted = f'model_calls_total{{model="m",outcome="{outcome}",task="answer"}} 1.0'
    assert counted in observer.metrics.text().decode()


def test_models_beyond_a_hundred_share_a_time_series() -> None:
    metrics = Metrics()
    for number in range(150):
        metrics.count_call(CallRecord("chat", f"m{number}", "p", outcome="ok"))
    text = metrics.text().decode()
    assert 'model_calls_total{model="m99",outcome="ok",task="chat"} 1.0' in text
    assert 'model_calls_total{model="other",outcome="ok",task="chat"} 50.0' in text
    assert "m100" not in text


def policy_of(*arguments: str) -> tuple[int, str, list[Policy]]:
    read: list[Policy] = []

    @click.command()
    @limit_options
    def command(**limits: object) -> None:
        read.append(read_policy(**limits))  # type: ignore[arg-type]

    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.output, read


def test_limits() -> None:
    assert policy_of() == (0, "", [Policy()])
    given = ("--attempts", "1", "--concurrency", "2", "--fallback", "chat=a/b, c/d")
    policy = Policy(attempts=1, concurrency=2, fallbacks={"chat": ("a/b", "c/d")})
    assert policy_of(*given) == (0, "", [policy])


@pytest.mark.parametrize("fallback", ["chat", "chat=", "embedding=a/b", "chat=a,,b", "=a/b"])
def test_fallbacks_that_cannot_be_read(fallback: str) -> None:
    exit_code, output, read = policy_of("--fallback", fallback)
    assert (exit_code, read) == (2, [])
    assert "TASK=MODEL" in output
