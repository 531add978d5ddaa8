"""Root starts the private server, whose account may lay links in its folders beforehand."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pgblend.cli.base.errors import UserError
from pgblend.cli.operate import account as ports
from pgblend.cli.operate.account import Account, keep_token, server_account, token_file
from pgblend.cli.operate.cluster import Cluster

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to lose")
VICTIM = "root alone may write here\n"


@pytest.fixture
def directory() -> Iterator[Path]:
    """A data folder that the server's account can reach."""
    with TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o711)
        yield Path(made) / "data"


@pytest.fixture
def victim(directory: Path) -> Iterator[Path]:
    """A file of root's; afterwards it is as it was."""
    file = directory.parent / "victim"
    file.write_text(VICTIM)
    file.chmod(0o644)
    yield file
    status = file.stat()
    assert (status.st_uid, status.st_mode & 0o777) == (0, 0o644)
    assert file.read_text() == VICTIM


def as_account(account: Account, *command: str | Path) -> None:
    account.run(list(command))


def test_no_link_of_the_account_s_is_written_over(directory: Path, victim: Path) -> None:
    account = server_account()
    cluster = Cluster(directory, durable=False)
    cluster.prepare()
    as_account(account, "ln", "-s", victim, cluster.log_directory / "password")
    cluster.create()
    as_account(account, "ln", "-s", victim, cluster.data / "pgblend.conf")
    as_account(account, "ln", "-s", victim, token_file(directory))
    # Not today's, which the server itself opens.
    day = (datetime.now(UTC) + timedelta(days=3)).strftime("%a")
    as_account(account, "ln", "-s", victim, cluster.log_directory / f"postgresql-{day}.log")
    cluster.start()
    try:
        keep_token(directory, account, "token")
        assert token_file(directory).read_text() == "token\n"
        assert token_file(directory).stat().st_mode & 0o777 == 0o600
        assert "port" in (cluster.data / "pgblend.conf").read_text()
        assert (cluster.data / "pgblend.conf").stat().st_uid == account.uid
    finally:
        cluster.stop()


def test_what_the_account_may_not_write_is_an_error(directory: Path, victim: Path) -> None:
    account = server_account()
    with pytest.raises(UserError, match="sh failed"):
        account.write(directory.parent / "other", "x")
    with pytest.raises(UserError, match="sh failed"):
        account.append(victim, "x")


def test_a_folder_that_is_a_link_is_given_to_nobody(directory: Path) -> None:
    account = server_account()
    target = directory.parent / "of root"
    target.mkdir(mode=0o755)
    directory.symlink_to(target)
    with pytest.raises(UserError, match="belongs to another account"):
        ports.make_private(directory, account)
    assert (target.stat().st_uid, target.stat().st_mode & 0o777) == (0, 0o755)
