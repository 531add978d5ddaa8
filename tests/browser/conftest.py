"""A headless Chromium for the tests that look at pages."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import playwright.sync_api as playwright
import pytest

from pgblend.cli.base.database import connect
from support.browser import Browser, find_chromium
from support.database import Database
from support.gateway_process import GatewayProcess
from support.search_page import Site, Visitor, fill_documentation, visitor
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of

Visit = Callable[..., Visitor]
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


@pytest.fixture(scope="module")
def chromium() -> Iterator[playwright.Browser]:
    """The Chromium that is here, driven."""
    program = find_chromium()
    if program is None:
        pytest.skip("there is no chromium here: docker/chromium.sh installs one")
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=program, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def site(server: Any, module_url: str, session_gateway: GatewayProcess) -> Iterator[Site]:
    """A door whose page searches the documentation."""
    role = f"visitor_{os.getpid()}"
    with connect(module_url) as connection:
        admin = Database(connection)
        with door_role(connection, f"page_door_{os.getpid()}", role) as login:
            fill_documentation(admin, module_url, role)
            gateway = session_gateway.url
            admin.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway)
            admin.rows("SELECT embed_text('{x}', timeout_ms => 60000)")  # a first one takes long
            url = server.url(connection.info.dbname, user=login, password=DOOR_PASSWORD)
            with ServeProcess(url, "--pool-size", "4") as process:
                yield Site(process, admin, role, token_of(connection, role))


@pytest.fixture
def visit(chromium: playwright.Browser, site: Site, model_provider: Any) -> Iterator[Visit]:
    """Open the page as somebody who has a link; in the end nothing has gone wrong there."""
    visitors: list[Visitor] = []
    with ExitStack() as stack:

        def opened(**options: object) -> Visitor:
            window: AbstractContextManager[Visitor] = visitor(chromium, site.link(), **options)
            one = stack.enter_context(window)
            playwright.expect(one.page.locator("#query")).to_be_enabled()
            visitors.append(one)
            return one

        yield opened
        for one in visitors:
            assert one.console == []
            assert {url.split("/")[2] for url in one.requests} == {site.process.url.split("/")[2]}
