"""What lets a browser in: a link that opens once, and a token of two halves."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from conftest import Server, login_role

from pgblend.cli.base.database import connect
from pgblend.cli.doors.tokens import make_link
from support.model_provider import Behaviour

SEARCH = {"query": "wine"}


def new_link(door: Any) -> str:
    url = make_link(door.admin.connection, door.process.url, door.roles["open"], 1)
    return url.partition("#open=")[2]


@pytest.fixture
def browser(door: Any) -> Any:
    """A client that has opened a link; `key` is what its page keeps."""
    with door.process.client() as client:
        opened = client.post("/page/session", json={"link": new_link(door)})
        assert opened.status_code == 200, opened.text
        client.headers["Authorization"] = f"Page {opened.json()['key']}"
        yield client


def test_a_browser_searches_as_the_links_role(browser: httpx.Client) -> None:
    answer = browser.post("/v1/search", json=SEARCH)
    assert answer.status_code == 200, answer.text
    assert {row["collection"] for row in answer.json()["results"]} == {"open"}
    assert browser.post("/page/overview", json={}).json()["collections"] == ["open"]


def test_the_cookie_is_for_this_server_alone(door: Any) -> None:
    with door.process.client() as client:
        opened = client.post("/page/session", json={"link": new_link(door)})
    cookie = opened.headers["set-cookie"]
    port = door.process.url.rpartition(":")[2]
    assert cookie.startswith(f"pgblend-{port}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Secure" not in cookie  # over plain HTTP it would be dropped
    assert opened.json().keys() == {"key", "scopes"}
    assert opened.headers["cache-control"] == "no-store"


def test_neither_half_is_worth_anything_alone(browser: httpx.Client, door: Any) -> None:
    authorization = browser.headers["Authorization"]
    with door.process.client() as stranger:
        headers = {"Authorization": authorization}
        assert stranger.post("/v1/search", json=SEARCH, headers=headers).status_code == 401
    for shown in ("", "Page x", f"Bearer {authorization.removeprefix('Page ')}"):
        headers = {"Authorization": shown}
        assert browser.post("/v1/search", json=SEARCH, headers=headers).status_code == 401


def test_another_page_cannot_use_it(browser: httpx.Client) -> None:
    headers = {"Origin": "http://127.0.0.1:1"}
    assert browser.post("/v1/search", json=SEARCH, headers=headers).status_code == 403
    assert browser.get("/v1/documents/1", headers=headers).status_code == 403


def told(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    return (json.loads(line.removeprefix("data: ")) for line in lines if line)


def test_an_answer_comes_by_the_sentence(browser: httpx.Client, models: Any) -> None:
    go = threading.Event()

    def pieces() -> Iterator[str]:
        yield from (
            'Wine comes from France [1: "wine in France"]. ',
            "It is the best. ",
            "There is",
        )
        go.wait(60)
        yield ' red wine and white wine [1: "Red wine and white wine"].'

    models.pieces = pieces()
    with browser.stream("POST", "/page/answer", json={"query": "where is wine made?"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = told(answer.iter_lines())
        assert next(events) == {"text": "Wine comes from France [1]."}
        go.set()  # the model is not done when the first sentence is here
        assert next(events) == {"text": " There is red wine and white wine [1]."}
        (last,) = events
    said = "Wine comes from France [1]. There is red wine and white wine [1]."
    assert last["document"]["answer"] == said
    assert last["document"]["checks"]["dropped"] == 1


def test_an_answer_that_cannot_begin_is_a_problem(browser: httpx.Client, models: Any) -> None:
    given = {"query": "where is wine made?", "options": {"strict": True}}
    models.behaviours["chat"] = Behaviour(status=400)
    response = browser.post("/page/answer", json=given)
    assert response.status_code == 503
    assert "answer: " in response.json()["detail"]
    assert browser.post("/page/answer", json={"query": 5}).status_code == 400


def test_an_answer_that_fails_after_a_sentence_says_so(browser: httpx.Client, models: Any) -> None:
    def pieces() -> Iterator[str]:
        yield from ('Wine comes from France [1: "wine in France"]. ', "It is", " more")
        raise ConnectionError

    models.pieces = pieces()
    given = {"query": "where is wine made?", "options": {"strict": True}}
    first, last = told(iter(browser.post("/page/answer", json=given).text.splitlines()))
    assert first == {"text": "Wine comes from France [1]."}
    assert last["problem"]["detail"].startswith("answer: ")


def test_a_link_opens_once_and_soon(door: Any) -> None:
    link = new_link(door)
    with door.process.client() as client:
        bearer = {"Authorization": f"Bearer {link}"}
        assert client.post("/v1/search", json=SEARCH, headers=bearer).status_code == 401
        assert client.post("/page/session", json={"link": link}).status_code == 200
        again = client.post("/page/session", json={"link": link})
        assert again.status_code == 401
        assert again.json()["type"] == "urn:pgblend:problem:invalid-link"
        old = new_link(door)
        age = "UPDATE pgblend_data.access_token SET created_at = created_at - interval '11 minutes'"
        door.admin.rows(f"{age} WHERE is_link")
        assert client.post("/page/session", json={"link": old}).status_code == 401
    links = "SELECT count(*) FROM pgblend_data.access_token WHERE is_link"
    new_link(door)
    assert door.admin.value(links) == 1  # what has lapsed is gone


def test_a_browser_is_let_in_until_its_token_ends(browser: httpx.Client, door: Any) -> None:
    door.admin.rows("DELETE FROM pgblend_data.access_token WHERE name = 'page'")
    assert browser.post("/v1/search", json=SEARCH).status_code == 401


def test_the_door_itself_changes_no_token(door: Any) -> None:
    new_link(door)
    with connect(door.login_url) as login:
        login.execute("SET ROLE pgblend_serve")
        update = "UPDATE pgblend_data.access_token SET digest = sha256('x')"
        assert login.execute(f"{update}, is_link = false WHERE NOT is_link").rowcount == 0
        for refused in (f"{update} WHERE is_link", f"{update}, role_name = 'postgres'"):
            with pytest.raises(Exception, match=r"denied|violates row-level security"):
                login.execute(refused)


def test_another_door_opens_no_link_of_a_role_that_it_may_not_take(
    door: Any, server: Server
) -> None:
    new_link(door)
    taken = (
        "UPDATE pgblend_data.access_token SET digest = sha256('x'), is_link = false WHERE is_link"
    )
    with (
        login_role(server, door.admin.connection.info.dbname, "pgblend_serve") as url,
        connect(url) as login,
    ):
        assert login.execute("SELECT FROM pgblend_data.access_token WHERE is_link").rowcount > 0
        assert login.execute(taken).rowcount == 0


def test_files_of_the_page(door: Any) -> None:
    with door.process.client() as client:
        page = client.get("/")
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for path in ("/page/page.css", "/page/main.js", "/page/icon.svg"):
            assert path in page.text
            found = client.get(path)
            assert found.status_code == 200
            assert found.headers["x-content-type-options"] == "nosniff"
            known = {"If-None-Match": found.headers["etag"]}
            assert client.get(path, headers=known).status_code == 304
        assert client.get("/page/links.py").status_code == 404
