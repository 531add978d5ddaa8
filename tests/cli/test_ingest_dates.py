"""Dates of texts: of mails, messages and notes whose files all have today's time."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from struct import pack
from typing import Any
from zipfile import ZipFile, ZipInfo

import pytest

START = datetime(2024, 1, 5, 12, tzinfo=UTC)
MONTH = "2024-03"
SPELLINGS = (
    *("date: 2024-3-16", "date: 20240316", "date: 16/03/2024", "date: 16-Mar-2024"),
    *("Datum: 16.3.24", "date: 2024-03-16 00:00:00 UTC", "date: [2024-03-16]"),
    *("published: 16 марта 2024", "date: 1710547200", "date: 2024年3月16日"),
    *("날짜: 2024. 3. 16.", "תאריך: 16 במרץ 2024", "Stand: 16.03.2024", "dátum: 2024. március 16."),
    *(
        "last_update: {date: 2024-03-16}",
        "lastmod: March 16, 2024 at 12:00 AM",
        "Erstellt: 16.3.2024",
        "meta: {author: Ann, created: 2024-03-16}",
    ),
)
# Texts and feeds that say when they are from, each in its own way.
TOLD = {
    "feed.rss": "<rss><channel><lastBuildDate>Mon, 01 Apr 2024 00:00:00 GMT</lastBuildDate>"
    "<item><title>the report</title><pubDate>Tue, 12 Mar 2024 10:00:00 GMT</pubDate></item>"
    "<item><title>a second one</title><pubDate>Sat, 16 Mar 2024 00:00:00 GMT</pubDate></item>"
    "</channel></rss>",
    "feed.atom": '<feed xmlns="http://www.w3.org/2005/Atom"><updated>2024-04-01T00:00:00Z</updated>'
    "<entry><title>the report</title><published>2024-03-16T00:00:00Z</published></entry></feed>",
    "letter.xml": '<TEI><teiHeader><date when="2024-03-16">mid March</date></teiHeader>'
    "<text><p>the report of <date>1 May 1999</date></p><p>and more</p></text></TEI>",
    "article.xml": "<article><front><pub-date><day>16</day><month>3</month><year>2024</year>"
    "</pub-date></front><body><p>the report</p></body></article>",
    "invoice.xml": "<Invoice><Issued><IssueDateTime><String>20240316</String></IssueDateTime>"
    "</Issued><Line>the report</Line><Line>more</Line></Invoice>",
    "fenced.txt": "---\ntitle: Fenced\ndate: 2024-03-16\n---\nthe report of a plain text",
    "minutes.txt": "Minutes\n=======\n\nPresent: Ann, Bob\nDate: 16 March 2024\n\nthe report",
    "notion.md": "# Plan\n\nCreated: March 16, 2024 12:00 AM\nTags: a, b\n\nthe report as exported",
    "decision.md": "# Decide\n\n* Status: accepted\n* **Date:** 2024-03-16\n\nthe report decided",
    "resent.eml": "Resent-Date: Sat, 16 Mar 2024 00:00:00 +0000\nFrom: Ann <a@x.org>\n"
    "Subject: On\n\nthe report sent on",
}


@pytest.fixture
def dated(pgblend: Any, connection: Any, tmp_path: Path, shared_data: Path) -> Any:
    """Forty mails, twenty-five notes and a Slack export; returns (key, date) by source."""
    moments: dict[str, datetime] = {}
    (tmp_path / "mails").mkdir()
    for number in range(40):
        moment = START + timedelta(days=5 * number)
        (tmp_path / "mails" / f"m{number}.eml").write_text(
            f"From: Ann <a@x.org>\nTo: b@x.org\nSubject: Mail {number}\n"
            f"Date: {format_datetime(moment)}\nMessage-ID: <{number}@x>\n\nreport number {number}\n"
        )
        moments[f"mails/m{number}.eml"] = moment
    (tmp_path / "notes").mkdir()
    for number in range(25):
        moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=9 * number)
        key = ("date", "created", "updated")[number % 3]
        (tmp_path / "notes" / f"n{number}.md").write_text(
            f"---\n{key}: {moment.date()}\n---\n# Note {number}\n\nthe report of the note\n"
        )
        moments[f"notes/n{number}.md"] = moment
    (tmp_path / "page.html").write_text(
        '<meta property="article:published_time" content="2024-03-09"><p>the report of a page</p>'
    )
    moments["page.html"] = datetime(2024, 3, 9, tzinfo=UTC)
    (tmp_path / "mails" / "sent.eml").write_text(
        "Received: from b by c; Tue, 12 Mar 2024 10:00:09 +0200\n"
        "Received: from a by b; Tue, 12 Mar 2024 10:00:00 +0200\n"
        "From: Ann <a@x.org>\nSubject: Sent\nDate: yesterday\n\nreport without its own date\n"
    )
    moments["mails/sent.eml"] = datetime(2024, 3, 12, 8, tzinfo=UTC)
    for name, date in (("ahead", "Wed, 12 Mar 2036"), ("reset", "Thu, 01 Jan 1970")):
        (tmp_path / "mails" / f"{name}.eml").write_text(
            "Received: from a by b; Thu, 14 Mar 2024 10:00:00 +0000\n"
            f"From: Ann <a@x.org>\nSubject: Clock {name}\nDate: {date} 00:00:10 +0000\n\nreport\n"
        )
        moments[f"mails/{name}.eml"] = datetime(2024, 3, 14, 10, tzinfo=UTC)
    (tmp_path / "mails" / "old.eml").write_text(
        "Received: from a by b; Thu, 14 Mar 2024 10:00:00 +0000\n"
        "From: Ann <a@x.org>\nSubject: Moved\nDate: Tue, 12 Mar 2019 10:00:00 +0000\n\nreport\n"
    )
    moments["mails/old.eml"] = datetime(2019, 3, 12, 10, tzinfo=UTC)
    (tmp_path / "mails" / "line.eml").write_text(
        "From ann@x.org Fri Mar 15 10:00:00 2024\nFrom: Ann <a@x.org>\nSubject: Line\n\nreport\n"
    )
    moments["mails/line.eml"] = datetime(2024, 3, 15, 10, tzinfo=UTC)
    (tmp_path / "pandoc.md").write_text(
        "% A note\n% Ann\n% 13 March 2024\n\nthe report as written\n"
    )
    moments["pandoc.md"] = datetime(2024, 3, 13, tzinfo=UTC)
    for number, spelling in enumerate(SPELLINGS):
        (tmp_path / f"spelt{number}.md").write_text(f"---\n{spelling}\n---\nthe report spelt\n")
        moments[f"spelt{number}.md"] = datetime(2024, 3, 16, tzinfo=UTC)
    (tmp_path / "mails" / "colon.eml").write_text(
        "From: Ann <a@x.org>\nSubject: Colon\nDate: Sat, 16 Mar 2024 10:00:00 +01:00\n\nreport\n"
    )
    moments["mails/colon.eml"] = datetime(2024, 3, 16, 9, tzinfo=UTC)
    for name, text in TOLD.items():
        (tmp_path / name).write_text(text)
        moments[name] = datetime(2024, 3, 16, tzinfo=UTC)
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        local = ZipInfo("local.txt", (2024, 3, 20, 10, 0, 0))
        archive.writestr(local, "the report of an archive")
        unix = ZipInfo("unix.txt", (2024, 3, 21, 1, 0, 0))
        unix.extra = pack("<HHBi", 0x5455, 5, 1, 1710954000)
        archive.writestr(unix, "the report of an archive with zones")
        told = ZipInfo("told.md", (2024, 4, 1, 0, 0, 0))
        archive.writestr(told, "---\ndate: 2024-03-22\n---\nthe report that tells its date")
        archive.writestr(ZipInfo("undated.txt"), "the report without a time")
    moments["all.zip#local.txt"] = datetime(2024, 3, 20, 10).astimezone()
    moments["all.zip#unix.txt"] = datetime(2024, 3, 20, 17, tzinfo=UTC)
    moments["all.zip#told.md"] = datetime(2024, 3, 22, tzinfo=UTC)
    for name in ("2024-03-23-post.md", "20240324_minutes.txt"):
        (tmp_path / name).write_text("the report named by its day")
    moments["2024-03-23-post.md"] = datetime(2024, 3, 23, tzinfo=UTC)
    moments["20240324_minutes.txt"] = datetime(2024, 3, 24, tzinfo=UTC)
    (tmp_path / "2024-13-40.txt").write_text("the report of no day")
    (tmp_path / "plain.txt").write_text("the report without a date")
    (tmp_path / "prose.txt").write_text("Date: 16 March 2024\nthe report of prose, which goes on")
    (tmp_path / "orders.xml").write_text(
        "<orders><order><date>2024-03-16</date>the report</order><order/></orders>"
    )
    result = pgblend("ingest", str(tmp_path), "--collection", "c")
    assert result.exit_code == 0, result.output
    export = str(shared_data / "docs" / "good" / "slack_export.zip")
    assert pgblend("ingest", export, "--collection", "slack").exit_code == 0
    return moments


@pytest.mark.extended
def test_dates_are_those_of_the_texts(dated: dict[str, datetime], connection: Any) -> None:
    found = dict(
        connection.execute(
            "SELECT source_key, modified_at FROM blend.documents WHERE collection = 'c'"
        ).fetchall()
    )
    today = datetime.now(UTC).date()
    for undated in (
        *("plain.txt", "prose.txt", "orders.xml"),
        *("2024-13-40.txt", "all.zip#undated.txt"),
    ):
        assert found.pop(undated).date() == today
    assert found == dated

    def searched(collection: str, **options: Any) -> list[tuple[str, datetime | None, float]]:
        given = {"timeouts_ms": {"lexical": 60000}, "dedup": "off", **options}
        return connection.execute(
            "SELECT source_key,"
            " CASE collection WHEN 'slack' THEN (metadata ->> 'date')::timestamptz END, score"
            " FROM blend.lexical_search(%s, 100, ARRAY[%s], options => %s)",
            [
                "report" if collection == "c" else "annealing city good work time",
                collection,
                json.dumps(given),
            ],
        ).fetchall()

    of_month = {key for key, moment in dated.items() if moment.isoformat().startswith(MONTH)}
    rows = searched("c", since=f"{MONTH}-01", until=f"{MONTH}-31")
    assert {key for key, *_ in rows} == of_month
    filtered = connection.execute(
        "SELECT source_key FROM blend.lexical_search('report', 100, ARRAY['c'], filter => %s,"
        ' options => \'{"dedup": "off"}\')',
        [json.dumps({"$date": {"gte": f"{MONTH}-01", "lte": f"{MONTH}-31"}})],
    ).fetchall()
    assert {key for (key,) in filtered} == of_month
    months = dict(
        connection.execute(
            "SELECT value ->> 'gte', document_count"
            " FROM blend.search_facets('report', ARRAY['$date'],"
            " collections => ARRAY['c'], options => %s, buckets => %s)",
            [json.dumps({"dedup": "off"}), json.dumps({"$date": "month"})],
        ).fetchall()
    )
    assert next(count for month, count in months.items() if str(month).startswith(MONTH)) == len(
        of_month
    )
    oldest_last = [key for key, *_ in searched("c", recency_half_life_days=5) if key in dated]
    assert oldest_last[0] == max(dated, key=lambda key: dated[key])
    # A channel goes on for months: each passage has its messages' time.
    passages = searched("slack")
    assert len({moment.strftime("%Y-%m") for _, moment, _ in passages if moment}) > 1
    within = searched("slack", since="2016-02-01", until="2016-02-29")
    assert within
    assert {moment.strftime("%Y-%m") for _, moment, _ in within if moment} == {"2016-02"}
    newest = max(moment for _, moment, _ in passages if moment)
    first = searched("slack", recency_half_life_days=5)[0][1]
    assert first is not None
    assert newest - first < timedelta(days=7)
