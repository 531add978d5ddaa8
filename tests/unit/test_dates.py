"""The date of a text."""

from datetime import UTC, datetime

import pytest

from pgblend.cli.documents.document import Document, Message, moment_of, own_date


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
        ("Do, 5 Mär 2026 10:00:00 +0100", (2026, 3, 5)),
        ("1er février 2026", (2026, 2, 1)),
        ("jeudi 5 mars 2026", (2026, 3, 5)),
        ("31 de enero de 2026", (2026, 1, 31)),
        ("lunedì 5 ottobre 2026", (2026, 10, 5)),
        ("sexta-feira, 30 de janeiro de 2026", (2026, 1, 30)),
        ("5 maart 2026", (2026, 3, 5)),
        ("<2026-01-31 Sat>", (2026, 1, 31)),
        ("[2026-01-31 Sa 12:00]", (2026, 1, 31, 12)),
    ],
)
def test_moments(value: object, expected: tuple[int, ...]) -> None:
    assert moment_of(value) == datetime(*expected, tzinfo=UTC)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    "value",
    [
        *("", None, "soon", "2026", 2026, "2026-13-01", "D:99999999", ["2026-01-31"], "9" * 200),
        *("1/2/2026", "31.2.2026", "May 2026", "12 apples 2026", "1.2.20265", "31. Februar 2026"),
    ],
)
def test_what_is_no_moment(value: object) -> None:
    assert moment_of(value) is None


def test_which_of_several_dates_counts() -> None:
    told = {"created": "2020-01-01", "Last-Modified": "2021-01-01", "date": "soon"}
    assert own_date(Document(metadata=told)) == datetime(2021, 1, 1, tzinfo=UTC)
    assert own_date(Document(metadata={**told, "date": "2022-01-01"})).year == 2022  # type: ignore[union-attr]
    assert own_date(Document(metadata={"author": "2020-01-01"})) is None
    names = (
        "publishDate",
        "pub_date",
        "Datum",
        "Last edited time",
        "published-on",
        "last_modified_at",
    )
    for name in names:
        assert own_date(Document(metadata={name: "2026-01-31"})) == datetime(
            2026, 1, 31, tzinfo=UTC
        )
    times = "2016-01-14T10:00:00+00:00", "2016-03-28T10:00:00+00:00", ""
    messages = tuple(Message(str(n), "a", time, "text") for n, time in enumerate(times))
    of_messages = Document(messages=messages, metadata=told)
    assert own_date(of_messages) == datetime(2016, 3, 28, 10, tzinfo=UTC)
