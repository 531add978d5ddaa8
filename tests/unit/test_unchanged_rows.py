"""What a session keeps between searches, and when that is read anew."""

from typing import Any

from pgblend.plpy.base.unchanged import (
    as_key,
    begin_unchanged,
    end_unchanged,
    is_unchanged,
    keep_unchanged,
    run_unchanged,
)
from support.fake_database import FakeDatabase

ASKER = "reader groups"
ROWS, ESTIMATE = "SELECT rows", "SELECT estimate"


class Server:
    """Answers with how often it was asked; what holds, and which tables changed, is set."""

    def __init__(self) -> None:
        self.count = 0
        self.holds, self.is_kept = True, True
        self.changed: list[str] | None = []
        self.database = FakeDatabase(
            {
                "AS holds": lambda *_: [
                    {"asker": ASKER, "holds": self.holds, "is_kept": self.is_kept}
                ],
                "renewed_proof": lambda: (
                    []
                    if self.changed is None
                    else [{"proof": "renewed", "index_tables": self.changed}]
                ),
                "lasting_proof": lambda: [{"asker": ASKER, "proof": "now", "lasting": "later"}],
                "SELECT": self._answer,
            }
        )

    def _answer(self, *_: object) -> list[dict[str, Any]]:
        self.count += 1
        return [{"count": self.count}]

    def search(self) -> tuple[int, int]:
        """What a search reads, which says how often the server was asked before."""
        begin_unchanged(self.database, "search")
        keep_unchanged(self.database)
        rows = run_unchanged(self.database, ROWS, ["text"], "a")
        estimate = run_unchanged(self.database, ESTIMATE, [], of="segment")
        end_unchanged(self.database)
        return rows[0]["count"], estimate[0]["count"]


def test_what_holds_is_read_once() -> None:
    server = Server()
    assert [server.search() for _ in range(3)] == [(1, 2)] * 3
    assert not is_unchanged(server.database)


def test_other_values_are_read_for_themselves() -> None:
    server = Server()
    keep_unchanged(server.database)
    values = (["a"], ["b"], ["a"])
    found = [run_unchanged(server.database, ROWS, ["text[]"], one)[0]["count"] for one in values]
    assert found == [1, 2, 1]


def test_after_a_commit_that_changed_nothing_only_rows_are_read_anew() -> None:
    server = Server()
    assert server.search() == (1, 2)
    server.holds = False
    assert server.search() == (3, 2)


def test_the_table_that_changed_is_read_anew() -> None:
    server = Server()
    assert server.search() == (1, 2)
    server.holds, server.changed = False, ["segment"]
    assert server.search() == (3, 4)
    server.changed = ["tombstone"]
    assert server.search() == (5, 4)


def test_what_cannot_be_proved_is_forgotten() -> None:
    server = Server()
    assert server.search() == (1, 2)
    server.holds, server.changed = False, None
    assert server.search() == (3, 4)


def test_nothing_is_kept_of_who_asks_for_less_than_is_theirs() -> None:
    server = Server()
    assert server.search() == (1, 2)
    server.holds, server.is_kept = False, False
    begin_unchanged(server.database, "search")
    assert not is_unchanged(server.database)
    assert run_unchanged(server.database, ROWS, ["text"], "a")[0]["count"] == 3


def test_what_is_to_run_before_runs_where_rows_are_read() -> None:
    server = Server()
    keep_unchanged(server.database)
    found = [run_unchanged(server.database, ROWS, [], before="SELECT before") for _ in range(2)]
    assert [rows[0]["count"] for rows in found] == [2, 2]


def test_equal_lists_are_one_key_which_is_hashed_once() -> None:
    """A search looks a dozen times for what is kept of many collections, by their ids."""
    key = as_key([1, 2])
    assert (as_key(key) is key, hash(key), key) == (True, hash(as_key((1, 2))), [1, 2])
    list.append(key, 3)  # nobody does; the hash stays
    assert hash(key) == hash(as_key([1, 2])) != hash(as_key([1, 2, 3]))


def test_rows_and_values_have_the_same_list() -> None:
    """Else each look for a row would compare all ids of one list with those of another."""
    database = FakeDatabase(
        {"SELECT ids": lambda *_: [{"ids": [1, 2]}], **Server().database.answers}
    )
    keep_unchanged(database)
    run_unchanged(database, ROWS, ["bigint[]"], [1, 2])
    first, again = (run_unchanged(database, "SELECT ids", [])[0]["ids"] for _ in range(2))
    (_, kept), *_ = [key for key in database.kept("unchanged_now")["kept"].rows["rows"] if key[1:]]
    assert first is again is kept
