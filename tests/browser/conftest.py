"""A headless Chromium for the tests that look at pages."""

import pytest

from support.browser import Browser, find_chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """The Chromium that is here; tests skip without one."""
    program = find_chromium()
    if program is None:
        pytest.skip("there is no chromium here: docker/chromium.sh installs one")
    return Browser(program, tmp_path_factory.mktemp("browser"))
