"""A headless Chromium for the tests that look at pages."""

import pytest

from support.browser import Browser, find_chromium

# One look at each page belongs to make test; make clients runs all.
QUICK = ("test_it_draws_without_an_error", "test_rows_come_as_one_types", "test_a_neighbourhood")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the rest to make clients."""
    for item in items:
        if item.path.parent.name == "browser" and item.name not in QUICK:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """The Chromium that is here; tests skip without one."""
    program = find_chromium()
    if program is None:
        pytest.skip("there is no chromium here: docker/chromium.sh installs one")
    return Browser(program, tmp_path_factory.mktemp("browser"))
