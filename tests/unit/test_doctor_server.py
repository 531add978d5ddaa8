"""The doctor's judgement of pgvector's version."""

import pytest

from pgblend.cli.operate.doctor_checks import vector_version


@pytest.mark.parametrize(
    ("installed", "offered", "parallel_builds", "status"),
    [
        ("0.7.4", "0.8.7", False, "problem"),
        ("0.8.0", "0.8.0", True, "warning"),
        ("0.8.3", "0.8.3", True, "warning"),
        ("0.8.0", "0.8.0", False, "ok"),
        ("0.8.0", "0.8.7", True, "ok"),  # the library is the newer one
        ("0.8.4", "0.8.4", True, "ok"),
        ("0.10", "0.10", True, "ok"),
    ],
)
def test_vector_version(installed: str, offered: str, parallel_builds: bool, status: str) -> None:
    check = vector_version(installed, offered, parallel_builds=parallel_builds)
    assert check.status == status
    assert installed in check.found
    assert bool(check.mend) is (status != "ok")
