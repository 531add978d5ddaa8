"""The doctor's judgement of pgvector's version."""

import pytest

from pgblend.cli.doctor.server import vector_version


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("0.7.4", "problem"),
        ("0.8.0", "warning"),
        ("0.8.3", "warning"),
        ("0.8.4", "ok"),
        ("0.10", "ok"),
    ],
)
def test_vector_version(version: str, status: str) -> None:
    check = vector_version(version)
    assert check.status == status
    assert version in check.found
    assert bool(check.mend) is (status != "ok")
