"""Links are checked and led to the documents that they mean (tests/sql shows them stored)."""

import json
from typing import Any

import pytest

from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.graph.edge_rows import checked_links, insert_links, resolve_links
from support.fake_database import FakeDatabase


@pytest.mark.parametrize("link", [
    {"target": "b"},
    {"target": "b", "kind": None, "type": None, "weight": None, "line": None, "metadata": None},
    {"target": "b", "kind": "wiki", "type": "t" * 200, "weight": 0.5, "line": 2**31 - 1},
])  # fmt: skip
def test_links_that_are_right(link: dict[str, Any]) -> None:
    assert checked_links(json.dumps([link])) == [link]


@pytest.mark.parametrize(("link", "problem"), [
    (None, "object"), ({"target": 1}, "object"), ({"target": "b", "kind": []}, "kind"),
    ({"target": "b", "type": "é" * 101}, "type"), ({"target": "b", "weight": True}, "weight"),
    ({"target": "b", "weight": 1000001}, "weight"), ({"target": "b", "line": 0}, "line"),
    ({"target": "b", "line": 2.0}, "line"), ({"target": "b", "metadata": "m"}, "metadata"),
])  # fmt: skip
def test_a_wrong_link_is_named(link: object, problem: str) -> None:
    with pytest.raises(ProgramError, match=rf"^link 2 is .*: .*{problem}") as failed:
        checked_links(json.dumps([{"target": "b"}, link]))
    assert failed.value.sqlstate == "22023"


@pytest.mark.parametrize(("links", "shown"), [(None, "NULL"), ("{}", "{}")])
def test_links_that_are_no_array(links: str | None, shown: str) -> None:
    with pytest.raises(ProgramError, match=f"links is {shown}: expected an array"):
        checked_links(links)


def named(target: int | None = None) -> dict[str, Any]:
    link = {"id": 5, "document_id": 1, "kind": "key", "target": "b.md", "path": "b.md"}
    return link | {
        "name": "b.md",
        "target_document_id": target,
        "source_key": "a.md",
        "is_far": False,
    }


def graph(links: list[dict[str, Any]]) -> tuple[FakeDatabase, list[Any]]:
    stored: list[Any] = []
    candidate = {"name": "b.md", "document_id": 2, "source_key": "b.md"}
    return FakeDatabase({
        "INSERT INTO pgblend_data.link": lambda *values: stored.append(values) or [],
        "SELECT d.id": lambda _: [{"id": 1, "source_key": "a.md", "uri": None}],
        "FROM pgblend_data.link": lambda *_: links,
        "document_name": lambda *_: [candidate | {"kind": "path", "full_name": "b.md"}],
        "UPDATE": lambda *values: stored.append(values) or [],
        "_link_edges": lambda *values: stored.append(values) or [],
    }), stored  # fmt: skip


def test_links_are_stored_and_led_to_what_they_mean() -> None:
    db, stored = graph([named()])
    said = json.dumps([{"target": "b.md"}, {"target": "mailto:b", "kind": "uri"}])
    assert insert_links(db, 7, [1, 9], [said, said], "text") == 1  # of 9 nothing is known
    assert stored[0] == ("text", [1], ['{"target": "b.md"}'], ["key"], ["b"], ["b"])
    assert stored[1:] == [([5], [2]), ([1], [2])]


def test_links_that_mean_what_they_did_change_nothing() -> None:
    db, stored = graph([named(target=2)])
    assert resolve_links(db, 7, None) == 0
    assert stored == []
    assert insert_links(db, 7, [], [], "data") == 0
