"""Modules that only the gateway's client uses, called by functions of their own."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgblend.plpy.models.gateway import gateway_token
from pgblend.plpy.models.outcome import gateway_answer
from support.program import loading

TOKEN = """
CREATE FUNCTION pg_temp.token(environment text, content text, mode integer) RETURNS text
LANGUAGE plpython3u AS $python$
import os, tempfile
from pgblend.plpy.models.gateway import gateway_token
os.environ["PGBLEND_GATEWAY_TOKEN"] = environment
with tempfile.TemporaryDirectory() as folder:
    if content is not None:
        path = os.path.join(folder, "pgblend_gateway_token")
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, mode)
    try:
        return gateway_token(folder)
    except Exception as error:
        return type(error).__name__
    finally:
        del os.environ["PGBLEND_GATEWAY_TOKEN"]
$python$;
"""
ANSWER = """
CREATE FUNCTION pg_temp.answer(status integer, body text) RETURNS jsonb
LANGUAGE plpython3u AS $python$
import json
from pgblend.plpy.models.outcome import gateway_answer
return json.dumps(gateway_answer("http://x", 10, lambda: (status, body)))
$python$;
"""


@pytest.fixture(scope="module")
def deployed(module_connection: psycopg.Connection) -> psycopg.Connection:
    for function in (TOKEN, ANSWER):
        module_connection.execute(loading(function))  # type: ignore[call-overload]
    return module_connection


@pytest.fixture(params=["python", "deployed"])
def token(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Any) -> Callable[..., Any]:
    def in_python(environment: str, content: str | None, mode: int) -> str | None:
        monkeypatch.setenv("PGBLEND_GATEWAY_TOKEN", environment)
        if content is not None:
            path = tmp_path / "pgblend_gateway_token"
            path.write_text(content)
            os.chmod(path, mode)
        try:
            return gateway_token(str(tmp_path))
        except Exception as error:
            return type(error).__name__

    def in_the_server(*parameters: Any) -> Any:
        connection = request.getfixturevalue("deployed")
        query = "SELECT pg_temp.token(%s, %s, %s)"
        return connection.execute(query, parameters).fetchone()[0]

    return in_python if request.param == "python" else in_the_server


@pytest.mark.parametrize(
    ("environment", "content", "mode", "expected"),
    [
        ("", None, 0, None),
        ("secret", None, 0, "secret"),
        (" secret\n", "other", 0o600, "secret"),  # the environment comes first
        ("", "secret\n", 0o600, "secret"),
        ("", "secret", 0o400, "secret"),
        ("", " \n", 0o600, None),
        ("", "secret", 0o640, "PermissionError"),
        ("", "secret", 0o604, "PermissionError"),
        ("", "sec\nret", 0o600, "ValueError"),
        ("sécret", None, 0, "ValueError"),
    ],
)
def test_token(token: Any, environment: str, content: Any, mode: int, expected: Any) -> None:
    assert token(environment, content, mode) == expected


def test_a_token_is_never_in_a_message(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PGBLEND_GATEWAY_TOKEN", "sec\nret")
    with pytest.raises(ValueError, match="the gateway token holds") as caught:
        gateway_token(str(tmp_path))
    assert "ret" not in str(caught.value)


def nested(levels: int) -> list[Any]:
    return [] if levels == 1 else [nested(levels - 1)]


@pytest.fixture(params=["python", "deployed"])
def answer(request: pytest.FixtureRequest) -> Callable[[int, str], Any]:
    if request.param == "python":
        return lambda status, body: gateway_answer("http://x", 10, lambda: (status, body))
    connection = request.getfixturevalue("deployed")
    query = "SELECT pg_temp.answer(%s, %s)"
    return lambda status, body: connection.execute(query, [status, body]).fetchone()[0]


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, '{"data": []}', {"answer": {"data": []}}),
        (200, "[1]", "is not JSON"),
        (200, "<html>", "is not JSON"),
        (200, "", "is not JSON"),
        (200, '{"data": [NaN]}', "is not JSON"),
        (200, '{"data": -Infinity}', "is not JSON"),
        (200, '{"data": 1e999}', "is not JSON"),
        (200, '{"data": ' + "[" * 98 + "]" * 98 + "}", {"answer": {"data": nested(98)}}),
        (200, '{"data": ' + "[" * 100 + "]" * 100 + "}", "is not JSON"),
        (200, '{"data": ' + "[" * 90_000 + "]" * 90_000 + "}", "is not JSON"),
        (500, "", "answered 500: "),
        (502, "<html>\nbad\tgateway", "answered 502: <html> bad gateway"),
        (429, json.dumps({"error": {"message": "slow\ndown"}}), "answered 429: slow down"),
        (401, json.dumps({"error": "no"}), 'answered 401: {"error": "no"}'),
        (400, json.dumps({"error": {"message": "nul \0 half \ud800 end"}}), "nul half \ufffd end"),
        (500, "x" * 10_000, "x" * 500),
    ],
)
def test_answer(answer: Any, status: int, body: str, expected: Any) -> None:
    found = answer(status, body)
    if isinstance(expected, str):
        assert found["problem"].endswith(expected) or expected in found["problem"]
        assert len(found["problem"]) < 600
        assert found["hint"]
    else:
        assert found == expected
