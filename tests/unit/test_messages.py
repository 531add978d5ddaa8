"""Messages: how they are grouped, and what the exports of Slack, Linear and mail give."""

import base64
import json
import struct
import zipfile
from dataclasses import replace
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.cli.base.token_count import count_tokens
from pgblend.cli.documents.chunking import group_messages, message_text, split_document
from pgblend.cli.documents.document import Document, Message, ParseError
from pgblend.cli.documents.mail_containers import read_tnef
from pgblend.cli.documents.parse_linear import find_issues, parse_linear
from pgblend.cli.documents.parse_mail import contents, parse_mail
from pgblend.cli.documents.parse_mbox import parse_mbox
from pgblend.cli.documents.parse_settings import ChunkSettings
from pgblend.cli.documents.parse_slack import (
    is_export_archive,
    open_export,
    parse_slack,
    plain_text,
)
from support.mails import tnef_of_text

TIME = "2024-05-01T10:00:00+00:00"


def message(number, text="hello", author="ann", context="c", **metadata):
    return Message(f"m{number}", author, TIME, text, f"http://x/{number}", context, metadata)


# --- grouping


def test_messages_of_one_context_share_a_chunk():
    messages = [message(1, author="ann", k="v"), message(2, "bye", author="bob", k="w")]
    (chunk,) = group_messages(messages, 400, 80, 40)
    assert chunk["content"] == "ann (2024-05-01 10:00): hello\n\nbob (2024-05-01 10:00): bye"
    assert chunk["token_count"] == count_tokens(chunk["content"])
    assert chunk["metadata"] == {
        "k": ["v", "w"],
        "authors": ["ann", "bob"],
        "date": TIME,
        "messages": [
            {"id": "m1", "author": "ann", "time": TIME, "url": "http://x/1"},
            {"id": "m2", "author": "bob", "time": TIME, "url": "http://x/2"},
        ],
    }


def test_another_context_begins_a_chunk_and_one_author_is_no_list():
    messages = [message(1, k="v"), message(2, k="v"), message(3, context="d", k="w")]
    chunks = group_messages(messages, 400, 80, 40)
    assert [[m["id"] for m in chunk["metadata"]["messages"]] for chunk in chunks] == [
        ["m1", "m2"],
        ["m3"],
    ]
    assert [chunk["metadata"]["k"] for chunk in chunks] == ["v", "w"]


def test_a_message_over_the_size_is_split_and_stands_alone():
    long = " ".join(f"word{n}." for n in range(300))
    chunks = group_messages([message(1), message(2, long), message(3)], 100, 20, 10)
    ids = [[m["id"] for m in chunk["metadata"]["messages"]] for chunk in chunks]
    assert ids == [["m1"], *[["m2"]] * (len(chunks) - 2), ["m3"]]
    assert len(chunks) > 5
    own = " ".join(chunk["content"][chunk["own_start"] :] for chunk in chunks[1:-1])
    assert own.split() == f"ann (2024-05-01 10:00): {long}".split()
    assert chunks[2]["own_start"] > 0


def test_messages_that_say_nothing_are_left_out():
    assert group_messages([message(1, " \n"), message(2, "")], 400, 80, 40) == []
    bare = Message("", "", "", "just text")
    assert group_messages([bare], 400, 80, 40) == [
        {
            "content": "just text",
            "token_count": 2,
            "metadata": {"authors": [], "messages": [{}]},
        }
    ]


@given(
    st.lists(st.tuples(st.text("ab cä\n", max_size=300), st.sampled_from("xy")), max_size=12),
    st.integers(20, 80),
)
@settings(max_examples=60)
def test_any_messages_keep_all_words_in_order_within_the_size(pairs, size):
    messages = [message(n, text, "", context) for n, (text, context) in enumerate(pairs)]
    chunks = group_messages(messages, size, size // 5, 5)
    assert all(chunk["token_count"] <= size for chunk in chunks)
    own = "".join(chunk["content"][chunk.get("own_start", 0) :] for chunk in chunks)
    stamp = "(2024-05-01 10:00):"
    expected = "".join(f" {stamp}{text}" for text, _ in pairs if text.strip())
    assert "".join(own.split()) == "".join(expected.split())


# --- Slack


USERS = [
    {"id": "U1", "name": "ann", "profile": {"display_name": "Ann", "real_name": "Ann Lee"}},
    {"id": "U2", "name": "bob", "profile": {"display_name": "", "real_name": "Bob Ray"}},
]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<@U1> and <@U9|zed> and <@U8>", "@Ann and @zed and @U8"),
        ("see <#C1> <#C9|old>", "see #general #old"),
        ("<!here> <!subteam^S1|@devs> <!date^1^{date}|Monday>", "@here @devs Monday"),
        ("<http://x.org/a|the docs>", "the docs (http://x.org/a)"),
        ("<http://x.org/a|x.org/a> <http://y.org>", "x.org/a http://y.org"),
        ("<tel:5|5> <mailto:a@b.c|a@b.c>", "5 a@b.c"),
        ("1 &lt; 2 &amp;&amp; a <- b", "1 < 2 && a <- b"),
    ],
)
def test_slack_markup(markup, text):
    assert plain_text(markup, {"U1": "Ann"}, {"C1": "general"}) == text


def slack(user, ts, text, **more):
    return {"type": "message", "user": user, "ts": ts, "text": text, **more}


@pytest.fixture
def slack_folder(tmp_path):
    folder = tmp_path / "export"
    days = {
        "general/2024-05-01.json": [
            slack("U1", "1714557600.000100", "Release on <#C1>?", thread_ts="1714557600.000100"),
            slack("U2", "1714557700.000000", "Other matter"),
            slack("U1", "1714557710.000000", "joined", subtype="channel_join"),
            {"type": "message", "ts": "oops", "text": "no time"},
        ],
        "general/2024-05-02.json": [
            slack("U2", "1714644000.000200", "Yes, <@U1>", thread_ts="1714557600.000100"),
            {
                "type": "message",
                "subtype": "bot_message",
                "username": "ci",
                "ts": "1714645000.000000",
                "text": "",
                "attachments": [
                    {"pretext": "Build", "text": "<http://ci/1|failed>"},
                    {"fallback": "f"},
                ],
                "files": [{"title": "log.txt"}],
            },
        ],
        "D1/2024-05-01.json": [slack("U1", "1714557600.000000", "psst")],
        "users.json": USERS,
        "channels.json": [{"id": "C1", "name": "general", "topic": {"value": "All of us"}}],
        "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
    }
    for name, value in days.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    return folder


def read_slack(path):
    with open_export(path) as export:
        return [(each.key, each.read()) for each in parse_slack(export)]


def test_slack_export(slack_folder):
    (key, general), (other_key, direct) = read_slack(slack_folder)
    assert (key, other_key) == ("general", "D1")
    assert (general.title, direct.title) == ("#general", "Ann, Bob Ray")
    assert general.uri == "https://slack.com/archives/C1"
    assert general.metadata == {
        "slackChannelId": "C1",
        "slackChannel": "general",
        "topic": "All of us",
    }
    assert [(m.author, m.text) for m in general.messages] == [
        ("Ann", "Release on #general?"),
        ("Bob Ray", "Yes, @Ann"),
        ("Bob Ray", "Other matter"),
        ("ci", "Build\nfailed (http://ci/1)\nf\n[log.txt]"),
    ]
    reply = general.messages[1]
    assert reply.time == "2024-05-02T10:00:00+00:00"
    assert reply.url == (
        "https://slack.com/archives/C1/p1714644000000200?thread_ts=1714557600.000100&cid=C1"
    )
    chunks = split_document(general, ChunkSettings())
    assert [chunk["metadata"]["authors"] for chunk in chunks] == [
        ["Ann", "Bob Ray"],
        ["Bob Ray", "ci"],
    ]
    assert chunks[0]["metadata"]["slackAuthorId"] == ["U1", "U2"]


def test_a_broken_day_costs_its_channel_only(slack_folder):
    (slack_folder / "general" / "2024-05-03.json").write_text('[{"type": "mess')
    with open_export(slack_folder) as export:
        general, direct = parse_slack(export)
    assert (general.identity, general.key) == ("C1", "general")
    with pytest.raises(ParseError, match=r"general/2024-05-03.json of the Slack export: not valid"):
        general.read()
    assert direct.read().messages
    (slack_folder / "users.json").write_text('[{"id": ["U1"]}, {"id": "U2"}')
    with open_export(slack_folder) as export, pytest.raises(ParseError, match=r"users\.json of"):
        list(parse_slack(export))


def test_slack_archive_is_the_same(slack_folder, tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(slack_folder.rglob("*.json")):
            archive.write(file, file.relative_to(slack_folder).as_posix())
    assert is_export_archive(path)
    assert read_slack(path) == read_slack(slack_folder)
    (tmp_path / "other.zip").write_bytes(b"PK\x03\x04 broken")
    assert not is_export_archive(tmp_path / "other.zip")


def test_slack_export_with_a_broken_day(slack_folder):
    (slack_folder / "general" / "2024-05-03.json").write_text('{"no": "list"}')
    with pytest.raises(ParseError, match=r"general/2024-05-03.json of the Slack export is no list"):
        read_slack(slack_folder)


def test_a_real_slack_export(shared_data):
    good = shared_data / "docs" / "good"
    conversations = read_slack(good / "slack_export.zip")
    assert [key for key, _ in conversations] == ["enrique", "traveling-sailor"]
    assert conversations == read_slack(good / "slack_export")
    for _, document in conversations:
        text = "\n".join(m.text for m in document.messages)
        assert "<@U" not in text
        assert "<http" not in text
        chunks = split_document(document, ChunkSettings())
        kept = [m["id"] for chunk in chunks for m in chunk["metadata"]["messages"]]
        assert list(dict.fromkeys(kept)) == [m.id for m in document.messages]


# --- Linear


ISSUE = {
    "id": "f00",
    "identifier": "ENG-12",
    "title": "Search is slow",
    "description": "It takes *long*.",
    "url": "https://linear.app/x/issue/ENG-12",
    "createdAt": "2024-05-01T10:00:00.000Z",
    "creator": {"name": "ann", "displayName": "Ann"},
    "state": {"name": "Done"},
    "labels": {"nodes": [{"name": "bug"}, {"name": "perf"}]},
    "priorityLabel": "High",
    "comments": {
        "nodes": [
            {"id": "c2", "body": "Fixed.", "user": {"name": "bob"}, "createdAt": "2024-05-03T1"},
            {"id": "c1", "body": "Looking.", "user": {"name": "bob"}, "createdAt": "2024-05-02T1"},
        ]
    },
}


@pytest.mark.parametrize(
    "value",
    [
        [ISSUE],
        {"issues": [ISSUE]},
        {"issues": {"nodes": [ISSUE]}},
        {"data": {"issues": {"nodes": [ISSUE]}}},
    ],
)
def test_linear_issues_are_found(value):
    assert find_issues(value) == [ISSUE]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        None,
        "x",
        [1],
        [{"title": "x"}],
        [{**ISSUE, "identifier": "12"}],
        {"issues": [ISSUE, {}, {}]},
    ],
)
def test_what_is_no_linear_export(value):
    assert find_issues(value) is None


def test_linear_issue():
    (issue,) = parse_linear([ISSUE])
    document = issue.read()
    assert (issue.key, document.title) == ("ENG-12", "ENG-12 Search is slow")
    assert document.metadata == {
        "linearIssueId": "f00",
        "linearIdentifier": "ENG-12",
        "state": "Done",
        "priority": "High",
        "labels": ["bug", "perf"],
        "date": "2024-05-01T10:00:00.000Z",
    }
    (chunk,) = split_document(document, ChunkSettings())
    assert chunk["content"] == (
        "Ann (2024-05-01 10:00): It takes *long*.\n\nbob (2024-05-02 1): Looking.\n\n"
        "bob (2024-05-03 1): Fixed."
    )
    assert chunk["metadata"]["linearAuthor"] == ["Ann", "bob"]
    assert [m["id"] for m in chunk["metadata"]["messages"]] == ["f00", "c1", "c2"]


def test_linear_issue_with_little_in_it():
    (issue,) = parse_linear([{"identifier": "A-1", "title": "Bare", "description": None}])
    assert [m.text for m in issue.read().messages] == ["Bare"]


# --- mbox


def mail(number, subject, text, **headers):
    message = EmailMessage()
    message["From"] = f"Ann {number} <a{number}@x.org>"
    message["Subject"] = subject
    message["Date"] = f"Wed, 0{number} May 2024 10:00:00 +0000"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return b"From a@x.org Wed May  1 10:00:00 2024\n" + message.as_bytes() + b"\n"


@pytest.fixture
def mbox(tmp_path):
    path = tmp_path / "inbox.mbox"
    path.write_bytes(
        mail(1, "Plans", "First.\n>From here on", Message_ID="<1@x>")
        + mail(4, "Lunch", "Eat?", Message_ID="<4@x>")
        + mail(3, "Re: Plans", "Third.", Message_ID="<3@x>", References="<1@x> <2@x>")
        + mail(2, "Re: Plans", "Second.", Message_ID="<2@x>", In_Reply_To="<1@x>")
        + mail(5, "AW: Lunch", "Yes.")
    )
    return path


def test_what_was_deleted_in_thunderbird_is_not_read(tmp_path):
    path = tmp_path / "Inbox"
    path.write_bytes(
        mail(1, "Plans", "First.", X_Mozilla_Status="0001")
        + mail(2, "Secret", "Gone.", X_Mozilla_Status="0009")
    )
    assert [each.read().title for each in parse_mbox(path)] == ["Plans"]
    path.write_bytes(mail(2, "Secret", "Gone.", X_Mozilla_Status="0008"))
    assert list(parse_mbox(path)) == []


def test_mbox_by_thread(mbox):
    threads = [(each.key, each.read()) for each in parse_mbox(mbox)]
    assert [key for key, _ in threads] == ["<1@x>", "<4@x>"]
    plans, lunch = (document for _, document in threads)
    assert plans.title == "Plans"
    assert [m.text.split("\n\n")[1] for m in plans.messages] == [
        "First.\nFrom here on",
        "Second.",
        "Third.",
    ]
    assert [m.author for m in lunch.messages] == ["Ann 4", "Ann 5"]
    (chunk,) = split_document(plans, ChunkSettings())
    assert chunk["metadata"]["authors"] == ["Ann 1", "Ann 2", "Ann 3"]
    assert chunk["metadata"]["mailAddresses"] == ["a1@x.org", "a2@x.org", "a3@x.org"]
    digests = [each.digest for each in parse_mbox(mbox)]
    with mbox.open("ab") as file:
        file.write(mail(6, "Re: Lunch", "No.", In_Reply_To="<4@x>"))
    assert [a == b.digest for a, b in zip(digests, parse_mbox(mbox), strict=True)] == [True, False]


def test_a_mail_without_a_date_has_that_of_its_from_line(tmp_path):
    path = tmp_path / "x.mbox"
    path.write_bytes(
        b"From a@x.org Fri Mar 15 10:00:00 2024\nFrom: a@x.org\nSubject: One\n\nfirst\n\n"
        b"From 12@xxx Sat Mar 16 10:00:00 +0000 2024\nFrom: b@x.org\nSubject: Two\n\nsecond\n\n"
        # As git writes patches: the line has the same day always.
        b"From 0badc0de Mon Sep 17 00:00:00 2001\nFrom: c@x.org\nSubject: Three\n"
        b"Date: Sun, 17 Mar 2024 10:00:00 +0000\n\nthird\n"
    )
    documents = [each.read() for each in parse_mbox(path)]
    days = [document.metadata["date"][:10] for document in documents]
    assert days == ["2024-03-15", "2024-03-16", "2024-03-17"]
    assert [m.time[:10] for document in documents for m in document.messages] == days


def test_mbox_without_mails_and_with_broken_ones(tmp_path):
    path = tmp_path / "x.mbox"
    path.write_bytes(b"just text\n")
    with pytest.raises(ParseError, match="no mbox"):
        list(parse_mbox(path))
    path.write_bytes(b"From x\n\nbody without headers\n\n" + mail(1, "S", "Text"))
    first, second = (each.read() for each in parse_mbox(path))
    assert (first.messages, len(second.messages)) == ((), 1)
    assert first.left_out[0].reason == "no mail: it has no headers"


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PGP SIGNED MESSAGE-----\n" + "Hash: SHA256\n" * 60,
        "-----BEGIN PGP SIGNED MESSAGE-----\n\n" * 20_000,
    ],
)
def test_a_signed_text_without_an_end_stays(text):
    # Its lines might be parted in many ways: 60 took longer than anybody waits.
    mail = f"From: a@b.example\nSubject: s\n\n{text}The weir."
    assert parse_mail(mail.encode()).text.endswith("The weir.")


HEAD = "From: Ann <ann@kontor.example>\nSubject: The yard\nMIME-Version: 1.0\n"


def sent(kind, *parts):
    """A mail of several parts, each its headers and its text."""
    head = f"{HEAD}Content-Type: multipart/{kind}; boundary=B\n\n"
    return (head + "".join(f"--B\n{part}\n" for part in parts) + "--B--\n").encode()


def part(kind, text, more=""):
    return f"Content-Type: {kind}\n{more}\n{text}"


def names_of(data):
    return [each.name for each in contents(data).files]


CALENDAR = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Launch\nEND:VEVENT\nEND:VCALENDAR"
INVITED = [
    part("text/plain", "You are invited."),
    part("text/calendar; method=REQUEST", CALENDAR),
    part("text/calendar; name=invite.ics", CALENDAR),
]
OTHER_FORMS = [
    part("text/plain", "Three replies."),
    part("text/x-amp-html", "<p>Three replies.</p>"),
    part("text/watch-html", "<b>Three</b>"),
    part("text/html", "<p>Three replies.</p>"),
]
PREHEADER = "<div style='color:#fff;Display : none !important'>Read <b>now</b></div>"
REPLIES = ("Three replies.", [])
SAID = "Feedback-Type: abuse\nUser-Agent: Mill/1"
FORWARDED = base64.b64encode(b"Subject: An offer\n\nUntil Whitsun.").decode()


@pytest.mark.parametrize(
    ("data", "text", "names"),
    [
        (sent("mixed", *INVITED), "You are invited.", ["invite.ics"]),
        (sent("alternative", *OTHER_FORMS), "Three replies.", []),
        (sent("alternative", OTHER_FORMS[1]), "Three replies.", []),
        (sent("related", part("text/html", f"{PREHEADER}<p>Three replies.</p>")), *REPLIES),
        (sent("report", part("message/feedback-report", SAID)), SAID, []),
        (sent("report", part("message/disposition-notification", SAID)), SAID, []),
        (sent("report", part("text/rfc822-headers", "Subject: Lost")), "Subject: Lost", []),
        (
            sent("mixed", part("message/rfc822", FORWARDED, "Content-Transfer-Encoding: base64\n")),
            "",
            ["An offer.eml"],
        ),
        (
            sent(
                "appledouble",
                part("application/applefile; name=a.csv", "x"),
                part("text/csv; name=a.csv", "fern,3"),
            ),
            "",
            ["a.csv"],
        ),
        (f"{HEAD}Content-Type: text/plain; charset=utf-8\n\nA\0b".encode(), "A\ufffdb", []),
    ],
    ids=[
        *(
            "invitation",
            "other forms",
            "another form alone",
            "hidden",
            "complaint",
            "receipt",
            "headers",
        ),
        *("mail in base64", "resource fork", "NUL"),
    ],
)
def test_what_programs_put_into_mails(data, text, names):
    assert parse_mail(data).text == text
    assert names_of(data) == names


def test_what_a_program_keeps_in_an_mbox_is_no_mail(tmp_path):
    path = tmp_path / "pine.mbox"
    path.write_text(
        "From MAILER Mon May  4 12:00:00 2026\n"
        "Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\n\nNone of yours.\n\n"
        "From a@b Mon May  4 12:00:00 2026\nSubject: Hello\nFrom: Ann <a@b>\n\nThe cooper.\n"
    )
    assert [each.read().title for each in parse_mbox(path)] == ["Hello"]


def test_messages_fill_a_chunk_to_the_last_token_and_no_further() -> None:
    messages = [message(number, f"news of day {number}") for number in range(1, 13)]
    alone = [count_tokens(message_text(one)) for one in messages]
    three = sum(alone[:3]) + 2 * 2  # an empty line apart
    for chunk_size, first in ((three, 3), (three - 1, 2)):
        chunks = group_messages(messages, chunk_size, 0, 1)
        assert chunks[0]["content"].count("news") == first
        assert all(count_tokens(chunk["content"]) <= chunk_size for chunk in chunks)


def test_parts_that_are_read_later_have_places_in_the_whole_text() -> None:
    texts = ["first part\nof two lines", "second part", "third part"]
    parts = [Document(title="t", text=text) for text in texts]
    whole = "\n".join(texts)
    document = replace(parts[0], further=iter(parts[1:]))
    for chunk in split_document(document, ChunkSettings()):
        begin, end = chunk["start_offset"], chunk["end_offset"]
        assert whole[begin:end] == chunk["content"]
        assert chunk["start_line"] == whole.count("\n", 0, begin) + 1


@pytest.mark.parametrize("secondary", [b"", struct.pack("<I", 1252)])
def test_text_of_a_winmail_is_read_by_its_own_code_page(secondary: bytes) -> None:
    code_page = struct.pack("<I", 1251) + secondary
    read = read_tnef(tnef_of_text("Протокол", "cp1251", code_page))
    assert read.texts == [("Протокол", "text/plain")]


def test_a_code_page_that_is_cut_off_says_nothing() -> None:
    read = read_tnef(tnef_of_text("café", "cp1252", b"\xe3\x04"))
    assert read.texts == [("café", "text/plain")]
