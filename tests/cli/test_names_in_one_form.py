"""Names and metadata are found in the form that one machine stores and another types."""

import json
import unicodedata
from collections.abc import Callable
from contextlib import closing
from typing import Any, LiteralString

import pytest
from click.testing import Result

from pgblend.integrations.client import Client
from support.database import Database

Pgblend = Callable[..., Result]

NAME, KEY, VALUE = "Über", "größe", "Zürich"
OTHER = {"NFC": "NFD", "NFD": "NFC"}
SEARCH: LiteralString = """
    SELECT source_key FROM lexical_search('tide', collections => %s, filter => %s::jsonb)
"""


def form(which: str, text: str) -> str:
    """Return a text in a form of Unicode."""
    return unicodedata.normalize(which, text)


@pytest.mark.extended
@pytest.mark.parametrize("stored", ["NFC", "NFD"])
def test_what_is_stored_in_one_form_is_found_in_the_other(
    committed: Database, pgblend: Pgblend, stored: str
) -> None:
    db = committed
    name, key, value = (form(stored, text) for text in (NAME, KEY, VALUE))
    asked, other_key, other = (form(OTHER[stored], text) for text in (NAME, KEY, VALUE))
    db.rows("SELECT add_collection(%s)", name)
    metadata = {key: value, "tags": [value, "x"], "size": {key: 5}}
    db.rows(
        "SELECT ingest_document(%s, 'a', 'The tide turned.', metadata => %s::jsonb)",
        asked, json.dumps(metadata),
    )  # fmt: skip
    assert db.column("SELECT name FROM collections") == [form("NFC", NAME)]
    assert "already" in str(db.error("SELECT add_collection(%s)", asked).message_primary)
    db.rows("SELECT set_collection_settings(%s, '{}')", asked)
    db.rows("SELECT grant_collection(%s, 'pgblend_reader')", asked)
    db.rows("SELECT lexical_seal(%s)", asked)
    db.rows("SELECT graph_node(%s, 'a')", asked)

    def found(filter: dict[str, Any]) -> bool:
        return db.rows(SEARCH, None, json.dumps(filter)) == [("a",)]

    assert db.rows(SEARCH, [asked], None) == [("a",)]
    assert found({"$collection": asked})
    assert found({"$collection": {"in": ["b", asked]}})
    for told in (
        {key: other}, {other_key: value}, {other_key: other}, {key: {"in": [other, "x"]}},
        {key: {"prefix": other[:4]}}, {other_key: {"exists": True}}, {other_key: {"gte": "A"}},
        {other_key: {"gte": "A", "lt": "z"}}, {"tags": {"contains": other}}, {"tags": other},
        {"tags": {"contains": [other, "x"]}}, {f"size.{other_key}": 5}, {key: {"ne": "x"}},
    ):  # fmt: skip
        assert found(told), told
    for told in (
        {key: {"ne": other}}, {other_key: {"exists": False}}, {"tags": {"contains": [other, "y"]}},
        {f"$metadata.{key}": other}, {key: form(OTHER[stored], "Zürichs")},
    ):  # fmt: skip
        assert not found(told), told
    facets = db.rows("SELECT value FROM search_facets('tide', %s)", [key])
    assert facets == [(form("NFC", VALUE),)]
    for arguments in (
        ("search", "tide", "-c", asked),
        ("search", "tide", "--filter", json.dumps({key: other})),
        ("document", "list", "-c", asked),
    ):
        assert "a" in pgblend(*arguments, "--csv").stdout.split("\n", 1)[1], arguments
    key, typed = (form(which, f"folder/{VALUE}.md") for which in (stored, OTHER[stored]))
    db.rows("SELECT ingest_document(%s, %s, 'Ebb.')", name, key)
    assert (
        json.loads(pgblend("document", "show", typed, "-c", asked, "--json").stdout)["document"][
            "source_key"
        ]
        == key
    )
    db.rows("SELECT ingest_document(%s, %s, 'Flood.')", name, typed)  # the exact one comes first
    pgblend("document", "delete", typed, "-c", asked, "--yes")
    assert db.column("SELECT source_key FROM documents ORDER BY 1") == ["a", key]
    node = "SELECT graph_node(%s, %s)"
    assert db.value(node, asked, typed) == db.value(node, name, key)
    with closing(Client(db.url)) as client:
        assert [(one.key, one.content) for one in client.get(asked, [typed])] == [(typed, "Ebb.")]
        client.delete(asked, [typed])
        assert client.get(name, [key]) == []
    db.rows("SELECT ingest_document(%s, %s, 'Ebb.')", name, key)
    judged, judged_typed = (form(which, "Größen") for which in (stored, OTHER[stored]))
    db.rows("SELECT add_judged_set(%s, %s)", judged, asked)
    assert "already" in str(
        db.error("SELECT add_judged_set(%s, %s)", judged_typed, name).message_primary
    )
    db.rows("SELECT record_judgement(%s, 'ebb', %s, 1, %s)", judged_typed, typed, asked)
    assert db.column("SELECT source_key FROM judgements") == [key]
    assert db.value("SELECT remove_judged_set(%s, %s)", judged_typed, asked) is True
    assert db.value("SELECT delete_document(%s, %s)", asked, typed) is True
    assert db.value("SELECT delete_document(%s, %s)", asked, typed) is False
    assert db.value("SELECT remove_collection(%s)", asked) is True


def test_tenants_that_look_alike_stay_apart(committed: Database) -> None:
    committed.rows("CREATE TABLE public.tickets (id bigint PRIMARY KEY, body text, shop text)")
    committed.rows("INSERT INTO public.tickets VALUES (1, 'tide', %s)", form("NFC", VALUE))
    committed.rows("SELECT attach_table('public.tickets', '{body}', tenant_column => 'shop')")
    count = "SELECT count(*) FROM lexical_search('tide', options => %s::jsonb)"
    for which, found in (("NFC", 1), ("NFD", 0)):
        assert committed.value(count, json.dumps({"tenant": form(which, VALUE)})) == found
