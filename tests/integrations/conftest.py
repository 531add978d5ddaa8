"""Frameworks over a real database."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgblend.integrations.client import Client
from support.door import door_to

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # before it is imported

# To import these frameworks takes seconds, in every process of a run.
SLOW = {"test_django.py", "test_haystack.py", "test_langchain.py", "test_llama_index.py"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave them out where slow tests are (make quick); `make frameworks` runs them."""
    return True if collection_path.name in SLOW and "not slow" in config.option.markexpr else None


@pytest.fixture(scope="module")
def driver_url(module_url: str, pytestconfig: pytest.Config) -> Iterator[str]:
    """The module's database for a driver of its own, which comes by a door where one is needed."""
    if not pytestconfig.option.managed:
        yield module_url
        return
    with door_to(module_url) as url:
        yield url


@pytest.fixture(scope="module")
def client(module_url: str) -> Iterator[Client]:
    """A client of the module's database, as its owner."""
    with Client(module_url) as opened:
        yield opened
