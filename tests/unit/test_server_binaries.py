"""Finding PostgreSQL: which installation is taken, and what is said of those that will not do."""

from pathlib import Path

import pytest

from pgblend.cli.base.errors import UserError
from pgblend.cli.operate.postmaster import find_binaries
from support.postgresql_folder import make_postgresql_folder


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGBLEND_POSTGRESQL_BIN", raising=False)


def test_the_newest_complete_installation_is_taken(tmp_path: Path) -> None:
    make_postgresql_folder(tmp_path, "15.20")
    expected = make_postgresql_folder(tmp_path, "17.6")
    make_postgresql_folder(tmp_path, "18.1", extensions=("pg_trgm", "plpython3u"))
    found = find_binaries(root=tmp_path)
    assert (found.folder, found.version, found.major) == (expected, "17.6", 17)


def test_an_existing_cluster_gets_its_own_major_version(tmp_path: Path) -> None:
    expected = make_postgresql_folder(tmp_path, "15.20")
    make_postgresql_folder(tmp_path, "17.6")
    assert find_binaries(15, root=tmp_path).folder == expected
    with pytest.raises(UserError, match="no installation of PostgreSQL 16 that"):
        find_binaries(16, root=tmp_path)


def test_beta_versions_are_read(tmp_path: Path) -> None:
    make_postgresql_folder(tmp_path, "19beta1")
    assert find_binaries(root=tmp_path).major == 19


@pytest.mark.parametrize(
    ("version", "options", "missing"),
    [
        ("14.9", {}, r"PostgreSQL 15 or newer \(this is 14\.9\)"),
        ("15.20", {"extensions": ("vector", "pg_trgm")}, "the extension plpython3u"),
        ("15.20", {"vector": "0.7.4"}, r"pgvector 0\.8 or newer \(this is 0\.7\.4\)"),
        ("15.20", {"extensions": ()}, "vector, the extension pg_trgm, the extension plpython3u"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, version: str, options: dict[str, object], missing: str
) -> None:
    folder = make_postgresql_folder(tmp_path, version, **options)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=missing) as error:
        find_binaries(root=tmp_path)
    assert str(folder) in error.value.message
    assert "provision.sh" in error.value.hint


def test_nothing_installed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no installation of PostgreSQL 15 or newer") as error:
        find_binaries(root=tmp_path)
    assert "apt" in error.value.hint or "install" in error.value.hint


def test_a_named_folder_is_the_only_one_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_postgresql_folder(tmp_path, "17.6")
    named = make_postgresql_folder(tmp_path / "opt", "15.20")
    monkeypatch.setenv("PGBLEND_POSTGRESQL_BIN", str(named))
    assert find_binaries(root=tmp_path).folder == named
    with pytest.raises(UserError, match="no installation of PostgreSQL 17"):
        find_binaries(17, root=tmp_path)
