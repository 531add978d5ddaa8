"""The date of a text."""

from datetime import UTC, datetime

import pytest

from pgblend.cli.documents.dates import moment_of, own_date
from pgblend.cli.documents.document import Document, Message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-31", (2026, 1, 31)),
        ("2026-01-31T12:00:00Z", (2026, 1, 31, 12)),
        ("2026-01-31 12:00+02:00", (2026, 1, 31, 10)),
        ("Sat, 31 Jan 2026 12:00:00 +0100", (2026, 1, 31, 11)),
        ("31 Jan 2026 12:00:00", (2026, 1, 31, 12)),
        ("D:20260131120000+01'00'", (2026, 1, 31, 11)),
        ("D:2026", (2026, 1, 1)),
        (datetime(2026, 1, 31), (2026, 1, 31)),
        ("2026-01-31 12:00:00 +0200", (2026, 1, 31, 10)),
        ("31 January 2026", (2026, 1, 31)),
        ("Saturday, January 31st, 2026", (2026, 1, 31)),
        ("Sept. 5, 2025", (2025, 9, 5)),
        ("31.1.2026", (2026, 1, 31)),
        ("31. 01. 2026", (2026, 1, 31)),
        ("2026/01/31", (2026, 1, 31)),
        ("31. Januar 2026", (2026, 1, 31)),
        ("Samstag, den 31. Jänner 2026", (2026, 1, 31)),
        ("5 Mär 2026", (2026, 3, 5)),
        ("Do, 5 Mär 2026 10:00:00 +0100", (2026, 3, 5, 9)),
        ("1er février 2026", (2026, 2, 1)),
        ("jeudi 5 mars 2026", (2026, 3, 5)),
        ("31 de enero de 2026", (2026, 1, 31)),
        ("lunedì 5 ottobre 2026", (2026, 10, 5)),
        ("sexta-feira, 30 de janeiro de 2026", (2026, 1, 30)),
        ("5 maart 2026", (2026, 3, 5)),
        ("<2026-01-31 Sat>", (2026, 1, 31)),
        ("[2026-01-31 Sa 12:00]", (2026, 1, 31, 12)),
        ("2026-1-31", (2026, 1, 31)),
        ("2026-01-31 9:07", (2026, 1, 31, 9, 7)),
        ("2026-01-31 12:00:00 UTC", (2026, 1, 31, 12)),
        ("2026-01-31 12:00 Europe/Berlin", (2026, 1, 31, 11)),
        ("2026-01-31 (draft)", (2026, 1, 31)),
        (20260131, (2026, 1, 31)),
        ("20260131T120000Z", (2026, 1, 31, 12)),
        ("D:20260131120000+01", (2026, 1, 31, 11)),
        (1769860800, (2026, 1, 31, 12)),
        (1769860800123, (2026, 1, 31, 12)),
        ("2026:01:31 12:00:00", (2026, 1, 31, 12)),
        ("31/01/2026", (2026, 1, 31)),
        ("1/31/2026, 9:07 PM", (2026, 1, 31, 21, 7)),
        ("31-Jan-2026", (2026, 1, 31)),
        ("31.1.26, 09:07 Uhr", (2026, 1, 31, 9, 7)),
        ("Jan 31, 2026 at 12:07 AM", (2026, 1, 31, 0, 7)),
        ("Sat, 31 Jan 2026 12:00:00 +01:00", (2026, 1, 31, 11)),
        ("Sat Jan 31 2026 12:00:00 GMT+0100 (Central European Time)", (2026, 1, 31, 11)),
        ("Sat, 31 Jan 2026 12:00:60 +0100", (2026, 1, 31, 11, 0, 59)),
        ("the 31st of January 2026", (2026, 1, 31)),
        ("31 января 2026", (2026, 1, 31)),
        ("31 січня 2026", (2026, 1, 31)),
        ("31 stycznia 2026", (2026, 1, 31)),
        ("31. ledna 2026", (2026, 1, 31)),
        ("31 Ιανουαρίου 2026", (2026, 1, 31)),
        ("31. tammikuuta 2026", (2026, 1, 31)),
        ("31 Ocak 2026", (2026, 1, 31)),
        ("2026. január 31.", (2026, 1, 31)),
        ("2026年1月31日", (2026, 1, 31)),
        ("2026년 1월 31일", (2026, 1, 31)),
    ],
)
def test_moments(value: object, expected: tuple[int, ...]) -> None:
    assert moment_of(value) == datetime(*expected, tzinfo=UTC)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    "value",
    [
        *("", None, "soon", "2026", 2026, "2026-13-01", "D:99999999", ["2026-01-31"], "9" * 200),
        *("1/2/2026", "31.2.2026", "May 2026", "12 apples 2026", "1.2.20265", "31. Februar 2026"),
        *("0001-01-01", "Tue, 5 Mar 124 10:00:00 +0100", True, "32/13/2026", "10.0.0.1"),
    ],
)
def test_what_is_no_moment(value: object) -> None:
    assert moment_of(value) is None


def test_which_of_several_dates_counts() -> None:
    told = {"created": "2020-01-01", "Last-Modified": "2021-01-01", "date": "soon"}
    assert own_date(Document(metadata=told)) == datetime(2021, 1, 1, tzinfo=UTC)
    assert own_date(Document(metadata={**told, "date": "2022-01-01"})).year == 2022  # type: ignore[union-attr]
    assert own_date(Document(metadata={"author": "2020-01-01"})) is None
    assert own_date(Document(metadata={"data": "31 gennaio 2026"})) == datetime(
        2026, 1, 31, tzinfo=UTC
    )
    for value in ([1769860800], {"date": "2026-01-31"}, 1769860800):
        assert own_date(Document(metadata={"data": value})) is None
    for value in (["soon", "2026-01-31"], {"date": "2026-01-31", "author": "Ann"}):
        assert own_date(Document(metadata={"last_update": value})) == datetime(
            2026, 1, 31, tzinfo=UTC
        )
    names = (
        "publishDate",
        "pub_date",
        "Datum",
        "Last edited time",
        "published-on",
        "last_modified_at",
        "Gea\u0308ndert",
    )
    for name in names:
        assert own_date(Document(metadata={name: "2026-01-31"})) == datetime(
            2026, 1, 31, tzinfo=UTC
        )
    times = "2016-01-14T10:00:00+00:00", "2016-03-28T10:00:00+00:00", ""
    messages = tuple(Message(str(n), "a", time, "text") for n, time in enumerate(times))
    of_messages = Document(messages=messages, metadata=told)
    assert own_date(of_messages) == datetime(2016, 3, 28, 10, tzinfo=UTC)
