"""server.json, the choice of the data folder, and the connection URL."""

import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from pgblend.cli.base.errors import UserError
from pgblend.cli.operate import state


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGBLEND_DATA_DIR", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    assert state.load_state(tmp_path) is None
    saved = state.ServerState(5433, "/tmp/socket", ["http://127.0.0.1:1"])
    saved.save(tmp_path)
    assert state.load_state(tmp_path) == saved
    assert [file.name for file in tmp_path.iterdir()] == ["server.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"port": 1}', '{"unknown": 1}'])
def test_a_damaged_file_is_one_line_and_says_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / "server.json").write_text(content)
    with pytest.raises(UserError, match=r"server\.json is damaged") as error:
        state.load_state(tmp_path)
    assert "remove that file" in error.value.hint


def test_the_option_goes_before_the_variable_and_both_before_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert state.data_directory() == tmp_path / "pgblend"
    monkeypatch.setenv("PGBLEND_DATA_DIR", str(tmp_path / "named"))
    assert state.data_directory() == tmp_path / "named"
    assert state.data_directory(tmp_path / "option") == tmp_path / "option"


def test_root_keeps_its_data_where_the_server_s_account_can_reach_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert state.data_directory() == Path("/var/lib/pgblend")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert state.data_directory().parts[-2:] == ("share", "pgblend")


def test_the_url_names_the_password_file_and_quotes_its_path() -> None:
    url = urlsplit(state.private_url(Path("/data/a b&c?d"), 5433))
    assert url.netloc == "pgblend@127.0.0.1:5433"
    assert url.path == "/pgblend"
    assert parse_qs(url.query) == {"passfile": ["/data/a b&c?d/pgpass"]}


def test_no_url_before_the_first_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGBLEND_DATA_DIR", str(tmp_path))
    assert state.database_url() is None
    state.ServerState(5433, "/tmp/socket").save(tmp_path)
    assert state.database_url() == state.private_url(tmp_path, 5433)
