"""`pgblend mcp install`: what agents' programs are told, and what stays of their files."""

import json
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from pgblend.cli.main import cli

Run = Callable[..., Result]
URL = "postgresql://agent@localhost:5432/mydb"
PROJECT = {
    "claude-code": (".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
}
USERS = {
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
}


def only(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    properties = {**required, **optional}
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


def named(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "minProperties": 1, "additionalProperties": value}


TEXT = {"type": "string", "minLength": 1}
STDIO = only(
    {"type": {"const": "stdio"}, "command": TEXT},
    args={"type": "array", "items": TEXT},
    env=named(TEXT),
)
REMOTE = {"url": {"type": "string", "pattern": "^https?://"}}
HTTP = only({"type": {"const": "http"}, **REMOTE}, headers=named(TEXT))
PROMPT = only(
    {"type": {"const": "promptString"}, "id": TEXT, "description": TEXT},
    password={"type": "boolean"},
)
# The fields that their manuals have: code.claude.com/docs/en/mcp, cursor.com/docs/mcp and
# code.visualstudio.com/docs/agents/reference/mcp-configuration (read in November 2026).
DOCUMENTED = {
    "claude-code": only({"mcpServers": named({"oneOf": [STDIO, HTTP]})}),
    "cursor": only({"mcpServers": named({"oneOf": [STDIO, only(REMOTE, headers=named(TEXT))]})}),
    "vscode": only(
        {"servers": named({"oneOf": [STDIO, HTTP]})}, inputs={"type": "array", "items": PROMPT}
    ),
}


def strings(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `pgblend mcp install` in an empty folder, with an empty home."""
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("PGBLEND_DATA_DIR", raising=False)
    monkeypatch.delenv("PGBLEND_DATABASE_URL", raising=False)

    def run(*words: str, url: str | None = URL) -> Result:
        database = ["--database-url", url] if url else []
        return CliRunner().invoke(cli, [*database, "mcp", "install", *words])

    return run


@pytest.mark.parametrize("client", PROJECT)
def test_it_is_shown_then_written(install: Run, client: str) -> None:
    name, key = PROJECT[client]
    shown = install("--client", client)
    assert shown.exit_code == 0, shown.stderr
    assert name in shown.stderr
    assert not Path(name).exists()
    entry = json.loads(shown.stdout)[key]["pgblend"]
    assert entry["args"] == ["mcp"]
    assert Path(entry["command"]).name == "pgblend"
    assert entry["env"] == {"PGBLEND_DATABASE_URL": URL}
    written = install("--client", client, "--write")
    assert (written.exit_code, written.stdout) == (0, "")
    assert json.loads(Path(name).read_text()) == json.loads(shown.stdout)
    assert "has it already" in install("--client", client, "--write").stderr


@pytest.mark.parametrize("client", USERS)
def test_for_all_projects(install: Run, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = install("--client", client, "--user", "--write", "--scope", "search", url=None)
    assert written.exit_code == 0, written.stderr
    entry = json.loads((Path.home() / USERS[client]).read_text())[PROJECT[client][1]]["pgblend"]
    assert entry["args"] == ["mcp", "--scope", "search"]
    assert "env" not in entry  # the private server
    monkeypatch.setenv("PGBLEND_DATA_DIR", "data")  # in a folder that is named
    written = install("--client", client, "--user", "--write", url=None)
    entry = json.loads((Path.home() / USERS[client]).read_text())[PROJECT[client][1]]["pgblend"]
    assert entry["env"] == {"PGBLEND_DATA_DIR": str(Path("data").resolve())}
    assert not list(Path.cwd().iterdir())


@pytest.mark.parametrize(
    ("client", "token"),
    [
        ("claude-code", "${PGBLEND_TOKEN}"),
        ("cursor", "${env:PGBLEND_TOKEN}"),
        ("vscode", "${input:pgblend-token}"),
    ],
)
def test_over_http_no_token_is_written(install: Run, client: str, token: str) -> None:
    url = "https://door.example/mcp"
    found = json.loads(install("--client", client, "--url", url).stdout)
    entry = found[PROJECT[client][1]]["pgblend"]
    kind = {} if client == "cursor" else {"type": "http"}
    assert entry == {**kind, "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    assert ("inputs" in found) is (client == "vscode")


@pytest.mark.parametrize(
    "words", [(), ("--scope", "search"), ("--url", "https://door.example/mcp")]
)
@pytest.mark.parametrize("client", PROJECT)
def test_the_configuration_is_what_the_program_documents(
    install: Run, client: str, words: tuple[str, ...]
) -> None:
    shown = json.loads(install("--client", client, *words).stdout)
    Draft202012Validator(DOCUMENTED[client]).validate(shown)
    used = {name for text in strings(shown) for name in re.findall(r"\$\{input:([^}]*)\}", text)}
    assert used == {each["id"] for each in shown.get("inputs", [])}


def test_all_else_stays(install: Run) -> None:
    file, target = Path(".vscode/mcp.json"), Path("shared.json")
    file.parent.mkdir()
    file.symlink_to(target.resolve())
    before = {
        "inputs": [{"id": "other", "type": "promptString", "description": "schön"}],
        "servers": {"other": {"command": "x"}, "pgblend": {"command": "old"}},
        "more": [1, {"a": None}],
    }
    target.write_text(json.dumps(before, indent=4, ensure_ascii=False))
    target.chmod(0o640)
    written = install("--client", "vscode", "--write", "--url", "http://127.0.0.1:8767/mcp")
    assert written.exit_code == 0, written.stderr
    after = json.loads(target.read_text())
    assert file.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(after) == list(before)
    assert after["more"] == before["more"]
    assert after["servers"]["other"] == before["servers"]["other"]  # type: ignore[call-overload]
    assert after["servers"]["pgblend"]["type"] == "http"
    assert [each["id"] for each in after["inputs"]] == ["other", "pgblend-token"]
    assert '\n    "inputs"' in target.read_text()
    assert "schön" in target.read_text()
    assert sorted(path.name for path in Path.cwd().iterdir()) == [".vscode", "shared.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "it is not JSON: Expecting property name"),
        (b'{"mcpServers": {} // mine\n}', "it is not JSON"),
        (b"[]", "expected an object, such as {}"),
        (b'{"mcpServers": []}', "expected an object under 'mcpServers'"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice in one object"),
        (b'{"a": "\xff"}', "it is not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_broken_file_is_left_alone(install: Run, content: bytes, said: str) -> None:
    file = Path(".mcp.json")
    file.write_bytes(content)
    refused = install("--client", "claude-code", "--write")
    assert refused.exit_code == 1
    assert "error: .mcp.json is not a configuration that can be added to" in refused.stderr
    assert said in refused.stderr
    assert "hint: mend the file" in refused.stderr
    assert file.read_bytes() == content
    assert [path.name for path in Path.cwd().iterdir()] == [".mcp.json"]


def test_an_empty_file_is_a_new_one(install: Run) -> None:
    Path(".mcp.json").write_text("\n")
    assert install("--client", "claude-code", "--write").exit_code == 0
    assert "mcpServers" in json.loads(Path(".mcp.json").read_text())


def test_a_file_that_cannot_be_written(install: Run) -> None:
    Path(".mcp.json").mkdir()
    refused = install("--client", "claude-code", "--write")
    assert (refused.exit_code, "cannot read .mcp.json" in refused.stderr) == (1, True)
    Path(".vscode").touch()
    refused = install("--client", "vscode", "--write")
    assert (refused.exit_code, ".vscode" in refused.stderr) == (1, True)


def test_no_password_is_written(install: Run) -> None:
    refused = install("--client", "cursor", url="postgresql://agent:hush@localhost/mydb")
    assert refused.exit_code == 1
    assert "has a password" in refused.stderr
    assert "~/.pgpass" in refused.stderr
    assert "hush" not in refused.output


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--client", "emacs"], 2),
        ([], 2),
        (["--client", "cursor", "--url", "http://127.0.0.1:8767/mcp", "--scope", "ask"], 2),
        (["--client", "cursor", "--url", "http://127.0.0.1:8767"], 1),
        (["--client", "cursor", "--url", "127.0.0.1/mcp"], 1),
    ],
)
def test_what_cannot_be_installed(install: Run, words: list[str], code: int) -> None:
    assert install(*words).exit_code == code
