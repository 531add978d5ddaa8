"""A data folder where nothing can be made: the error names it."""

from pathlib import Path

import pytest

from pgblend.cli.base.errors import UserError
from pgblend.cli.operate.cluster import Cluster


@pytest.mark.parametrize("folder", ["/proc", "/proc/sys/kernel", "/proc/pgblend-none"])
def test_a_folder_that_takes_no_files_is_named(folder: str) -> None:
    """What the kernel shows there takes none of any account, as a read-only disk does."""
    with pytest.raises(UserError, match="cannot be used as data folder") as refused:
        Cluster(Path(folder)).prepare()
    assert str(refused.value).startswith(folder)
    assert "--data-dir" in str(refused.value.hint)
