"""Making, changing and dropping profiles; settings of collections; several settings at once."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.database import Database

CHANGES = "SELECT scope, subject, name, old_value, new_value FROM setting_changes"


def set_profile(db: Database, name: str, description: str | None, settings: Any) -> None:
    db.rows("SELECT set_profile(%s, %s, %s)", name, description, Jsonb(settings))


def test_make_use_replace_and_drop(db: Database) -> None:
    set_profile(db, "mine", "a test", {"rrf_k": 20, "weights": {"vector": 2}})
    resolve = "SELECT pgblend._search_settings('{}', 'mine', '{}') -> 'rrf_k'"
    assert db.value(resolve) == 20
    who = db.value("SELECT session_user::text")
    row = (
        "SELECT description, settings, built_in, changed_by::text FROM profiles WHERE name = 'mine'"
    )
    assert db.row(row) == ("a test", {"rrf_k": 20, "weights": {"vector": 2}}, False, who)
    set_profile(db, "mine", None, {"rrf_k": 30})
    assert db.row(row)[:2] == ("a test", {"rrf_k": 30})
    assert db.value(resolve) == 30
    assert db.value("SELECT drop_profile('mine')") is True
    assert db.value("SELECT drop_profile('mine')") is False
    assert "no profile" in str(db.error(resolve).message_primary)
    assert db.rows(CHANGES) == [
        ("profile", "mine", "description", None, "a test"),
        ("profile", "mine", "rrf_k", None, 20),
        ("profile", "mine", "weights", None, {"vector": 2}),
        ("profile", "mine", "rrf_k", 20, 30),
        ("profile", "mine", "weights", {"vector": 2}, None),
        ("profile", "mine", "description", "a test", None),
        ("profile", "mine", "rrf_k", 30, None),
    ]


def test_a_profile_of_nothing(db: Database) -> None:
    db.rows("SELECT set_profile('mine', settings => NULL)")
    assert db.row("SELECT description, settings FROM profiles WHERE name = 'mine'") == ("", {})


@pytest.mark.parametrize("name", [None, "", "Mine", "1st", "a b", "x" * 64, "mine;"])
def test_names_that_are_no_names(db: Database, name: str | None) -> None:
    for call in ("set_profile(%s)", "drop_profile(%s)"):
        error = db.error(f"SELECT {call}", name)
        assert (error.sqlstate, "profile name is" in str(error.message_primary)) == ("22023", True)
        assert error.message_hint


@pytest.mark.parametrize("name", ["balanced", "gno", "gno_epic", "three_arm", "rrf_mmr"])
def test_what_comes_with_pgblend_stays(db: Database, name: str) -> None:
    for call in ("set_profile(%s)", "drop_profile(%s)"):
        error = db.error(f"SELECT {call}", name)
        assert (error.sqlstate, error.message_primary) == (
            "22023", f'profile "{name}" comes with pgblend and stays as it is',
        )  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"rrf_q": 1}, 'profile "mine" has no setting "rrf_q"'),
        ({"rrf_k": -1}, 'profile "mine": "rrf_k" is -1: expected a number'),
        ({"chunk_size_tokens": 200}, 'no setting "chunk_size_tokens"'),
        ({"blend": {"kind": "tiers"}}, 'lacks the key "tiers"'),
        ([], "expected a JSON object"),
    ],
)
def test_wrong_settings(db: Database, settings: Any, part: str) -> None:
    error = db.error("SELECT set_profile('mine', NULL, %s)", Jsonb(settings))
    assert (error.sqlstate, part in str(error.message_primary)) == ("22023", True)
    assert db.rows(CHANGES) == []


def test_the_default_profile_is_not_dropped(db: Database) -> None:
    set_profile(db, "mine", "", {})
    db.rows("""SELECT set_setting('default_profile', '"mine"')""")
    error = db.error("SELECT drop_profile('mine')")
    assert error.message_primary == 'profile "mine" is the default_profile'
    db.rows("SELECT reset_setting('default_profile')")
    assert db.value("SELECT drop_profile('mine')") is True


def test_settings_of_a_collection(db: Database) -> None:
    collection_id = db.value("""SELECT add_collection('c', settings => '{"rrf_k": 30}')""")
    change = "SELECT set_collection_settings('c', %s)"
    db.rows(change, Jsonb({"k1": 2, "chunk_size_tokens": 200}))
    db.rows(change, Jsonb({"rrf_k": None, "k1": 1.5}))
    db.rows(change, Jsonb({}))
    db.rows(change, None)
    stored = "SELECT settings FROM collections WHERE name = 'c'"
    assert db.value(stored) == {"k1": 1.5, "chunk_size_tokens": 200}
    resolve = "SELECT pgblend._search_settings('{}', NULL, ARRAY[%s::bigint]) ->> 'k1'"
    assert db.value(resolve, collection_id) == "1.5"
    for wrong in ({"k1": -1}, {"k2": 1}, {"chunk_size_tokens": 80}, {"gateway_url": "unix:/x"}, []):
        assert db.error(change, Jsonb(wrong)).sqlstate == "22023"
    assert db.error("SELECT set_collection_settings('d', '{}')").sqlstate == "42704"
    assert db.value(stored) == {"k1": 1.5, "chunk_size_tokens": 200}
    db.rows("SELECT remove_collection('c')")
    assert db.rows(CHANGES) == [
        ("collection", "c", "rrf_k", None, 30),
        ("collection", "c", "chunk_size_tokens", None, 200),
        ("collection", "c", "k1", None, 2),
        ("collection", "c", "k1", 2, 1.5),
        ("collection", "c", "rrf_k", 30, None),
        ("collection", "c", "chunk_size_tokens", 200, None),
        ("collection", "c", "k1", 1.5, None),
    ]


def test_several_settings_at_once(db: Database) -> None:
    db.rows("SELECT reset_setting('timeouts_ms')")  # the template's own
    change = "SELECT set_settings(%s)"
    # Either alone would not fit the other's default.
    db.rows(change, Jsonb({"chunk_overlap_tokens": 500, "chunk_size_tokens": 1000, "k1": 2}))
    db.rows(change, Jsonb({"k1": None, "b": 0.5}))
    assert db.rows("SELECT name, value FROM settings WHERE source = 'database' ORDER BY name") == [
        ("b", 0.5), ("chunk_overlap_tokens", 500), ("chunk_size_tokens", 1000),
    ]  # fmt: skip
    for wrong in ({"b": 0.1, "k1": -1}, {"b": 0.1, "nope": 1}, {"b": 0.1, "chunk_size_tokens": 9}):
        assert db.error(change, Jsonb(wrong)).sqlstate == "22023"
    assert db.value("SELECT get_setting('b')") == 0.5
    db.rows(change, None)
    db.rows(change, Jsonb({}))


def test_only_admins_change_what_ranks(
    committed: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    committed.rows("SELECT add_collection('c')")
    calls = (
        "set_profile('mine')", "drop_profile('mine')", "set_settings('{\"k1\": 2}')",
        "set_collection_settings('c', '{\"k1\": 2}')",
    )  # fmt: skip
    writer = Database(connect_as("pgblend_writer"))
    for call in calls:
        assert writer.error(f"SELECT {call}").sqlstate == "42501"
    assert writer.rows("SELECT name FROM profiles WHERE name = 'balanced'")
    admin = Database(connect_as("pgblend_admin"))
    for call in calls:
        admin.rows(f"SELECT {call}")
    names = admin.column("SELECT DISTINCT changed_by::text FROM setting_changes")
    assert names == [admin.connection.info.user]
