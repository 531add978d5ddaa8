"""`pgblend sync`: run again and again, it adds what is new and leaves the rest alone."""

import json
import os

import pytest

from pgblend.cli.documents.batch import Batch, chunk_row, document_row
from pgblend.cli.documents.document_writer import StoreOutcome, store


@pytest.fixture
def sync(pgblend, parse_valid):
    """Run `pgblend sync … --collection c --json` and return the counts and the report."""

    def run(*arguments):
        result = pgblend("sync", *map(str, arguments), "--collection", "c", "--json", "--no-embed")
        assert result.exit_code == 0, result.stderr
        report = parse_valid(result, "ingest-report")
        return {k: v for k, v in report["documents"].items() if v}, report

    return run


def chunks(connection, key):
    return connection.execute(
        "SELECT c.id, c.chunk_index, c.metadata -> 'authors', c.content "
        "FROM pgblend_data.chunk AS c JOIN pgblend_data.document AS d ON d.id = c.document_id "
        "WHERE d.source_key = %s ORDER BY c.chunk_index",
        [key],
    ).fetchall()


def slack_export(folder, days, channel="general"):
    (folder / channel).mkdir(parents=True, exist_ok=True)
    (folder / "users.json").write_text('[{"id": "U1", "name": "ann"}, {"id": "U2", "name": "bob"}]')
    (folder / "channels.json").write_text(json.dumps([{"id": "C1", "name": channel}]))
    for day, texts in days.items():
        messages = [
            {"type": "message", "user": user, "ts": f"17145{day}.{place:06}", "text": text}
            for place, (user, text) in enumerate(texts)
        ]
        (folder / channel / f"2024-05-{day[:2]}.json").write_text(json.dumps(messages))
    return folder


FIRST = [("U1", "Who deploys today?"), ("U2", "I do.")]
SECOND = [("U1", "It is broken."), ("U2", "Rolled back.")]


def test_messages_are_appended_and_nothing_else_changes(sync, connection, tmp_path):
    export = slack_export(tmp_path / "a", {"01000": FIRST})
    assert sync(export)[0] == {"added": 1}
    before = chunks(connection, "slack:C1")
    assert len(before) == 1
    assert sync(export)[0] == {"unchanged": 1}
    slack_export(tmp_path / "a", {"01000": FIRST, "02000": SECOND})
    assert sync(export, "--dry-run")[0] == {"appended": 1}
    counts, report = sync(export)
    assert (counts, report["chunks"]) == ({"appended": 1}, 1)
    after = chunks(connection, "slack:C1")
    assert after[:1] == before
    assert [(index, authors) for _, index, authors, _ in after] == [
        (0, ["ann", "bob"]),
        (1, ["ann", "bob"]),
    ]
    assert "It is broken." in after[1][3]
    assert sync(export)[0] == {"unchanged": 1}
    assert chunks(connection, "slack:C1") == after
    found = connection.execute("SELECT source_key FROM blend.lexical_search('rolled back')")
    assert found.fetchall() == [("slack:C1",)]


def test_conversations_have_cursors(sync, connection, tmp_path):
    cursors = (
        "SELECT source_key, messages, first_at::text, last_at::text, last_message_id"
        " FROM conversations ORDER BY source_key"
    )
    issue = {"identifier": "ENG-1", "title": "Crash", "description": "boom", "id": "L1"}
    (tmp_path / "i.json").write_text(json.dumps([issue | {"createdAt": "soon"}]))
    sync(slack_export(tmp_path / "a", {"01000": FIRST}), tmp_path / "i.json")
    connection.execute("SET TIME ZONE 'UTC'")
    first = "2024-04-30 18:16:40+00"
    assert connection.execute(cursors).fetchall() == [
        ("linear:L1", 1, None, None, "L1"),
        ("slack:C1", 2, first, first, "1714501000.000001"),
    ]
    sync(slack_export(tmp_path / "b", {"02000": SECOND}))
    assert connection.execute(cursors).fetchall()[1] == (
        "slack:C1", 4, first, "2024-04-30 18:33:20+00", "1714502000.000001"
    )  # fmt: skip
    connection.execute("SELECT ingest_document('c', 'k', 'a walrus')")
    assert len(connection.execute(cursors).fetchall()) == 2


@pytest.mark.extended
def test_an_export_of_the_days_since_goes_on_with_the_channel_even_renamed(
    sync, connection, tmp_path
):
    sync(slack_export(tmp_path / "whole", {"01000": FIRST}))
    part = slack_export(tmp_path / "part", {"02000": SECOND}, channel="renamed")
    assert sync(part)[0] == {"appended": 1}
    assert len(chunks(connection, "slack:C1")) == 2
    assert sync(tmp_path / "whole")[0] == {"unchanged": 1}
    assert len(chunks(connection, "slack:C1")) == 2


@pytest.mark.slow
def test_many_new_messages_come_in_parts(sync, connection, tmp_path):
    path = tmp_path / "inbox.mbox"

    def mails(numbers):
        return b"".join(
            b"From x\nFrom: a@x.org\nMessage-ID: <%d@x>\nReferences: <1@x>\nSubject: s\n\n%s\n\n"
            % (number, b"many words of mail %d. " % number * 60)
            for number in numbers
        )

    path.write_bytes(mails([1]))
    assert sync(path)[0] == {"added": 1}
    with path.open("ab") as file:
        file.write(mails(range(2, 1202)))
    counts, report = sync(path)
    assert counts == {"appended": 1}
    indexes = [index for _, index, _, _ in chunks(connection, "mail:<1@x>")]
    assert indexes == list(range(len(indexes)))
    assert report["chunks"] >= 1200
    assert sync(path)[0] == {"unchanged": 1}


def test_comments_of_an_issue(sync, connection, tmp_path):
    path = tmp_path / "linear.json"
    issue = {
        "id": "i1",
        "identifier": "ENG-1",
        "title": "Slow",
        "description": "Very.",
        "comments": [],
    }
    path.write_text(json.dumps([issue]))
    sync(path)
    issue["comments"] = [{"id": "c1", "body": "Faster now.", "createdAt": "2024-05-01"}]
    path.write_text(json.dumps([issue]))
    assert sync(path)[0] == {"appended": 1}
    assert [content for *_, content in chunks(connection, "linear:i1")] == [
        "Very.",
        "(2024-05-01): Faster now.",
    ]
    issue["description"] = "Edited."
    path.write_text(json.dumps([issue]))
    assert sync(path)[0] == {"unchanged": 1}
    assert sync(path)[0] == {"unchanged": 1}


def test_files_are_replaced_and_pruned(sync, connection, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")
    assert sync(tmp_path)[0] == {"added": 2}
    (tmp_path / "a.txt").write_text("another")
    os.utime(tmp_path / "a.txt", (10**9, 10**9))
    (tmp_path / "b.txt").unlink()
    assert sync(tmp_path)[0] == {"replaced": 1}
    assert sync(tmp_path, "--prune")[0] == {"unchanged": 1, "pruned": 1}
    assert connection.execute("SELECT source_key FROM blend.documents").fetchall() == [("a.txt",)]


def grown(expected_hash: str) -> Batch:
    """A document of new messages, whose content hash is taken for that."""
    about = {"place": 0, "source_key": "k", "content_hash": "after", "expected_hash": expected_hash}
    rows = [chunk_row(0, {"content": text}) for text in ("more", "and more")]
    batch = Batch(["k"])
    batch.add(0, 0, "".join([document_row(about), *rows]).encode())
    batch.finish(0, 2, 0)
    return batch


def test_a_document_that_changed_meanwhile_is_not_appended_to(connection):
    connection.execute("SELECT blend.add_collection('c')")
    connection.execute("SELECT blend.ingest_document('c', 'k', 'text', content_hash => 'now')")
    (outcome,) = store(connection, "c", grown("before"))
    assert 'document "k" was changed or deleted meanwhile' in outcome.error
    assert store(connection, "c", grown("now")) == [StoreOutcome("k", "appended", 2)]
    indexes = connection.execute("SELECT chunk_index, content FROM blend.chunks ORDER BY 1")
    assert indexes.fetchall() == [(0, "text"), (1, "more"), (2, "and more")]


@pytest.mark.extended
def test_a_file_that_earlier_versions_read_in_another_way_is_read_once_more(
    sync, connection, tmp_path
):
    """As `ingest` does, though its document is as new as the file."""
    (tmp_path / "a.md").write_text("# Tides\n\nNeap.\n")
    (tmp_path / "b.md").write_text("# Ships\n\nSail.\n")
    assert sync(tmp_path)[0] == {"added": 2}
    assert sync(tmp_path)[0] == {"unchanged": 2}
    connection.execute(
        "UPDATE pgblend_data.document SET content_hash = 'of an earlier version'"
        " WHERE source_key = 'a.md'"
    )
    assert sync(tmp_path)[0] == {"replaced": 1, "unchanged": 1}
