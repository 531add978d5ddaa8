"""When a page or a PDF was written, in the ways that they say it."""

from typing import Any

import pytest

from pgblend.cli.documents.document import own_date
from pgblend.cli.documents.formats import parse_file
from support.written_pdf import Print, written_pdf

LINKED = '<script type="application/ld+json">%s</script>'
GRAPH = LINKED % (
    '{"@graph": [{"@type": "Person"}, {"@type": "Article", "datePublished": "2024-03-05"}]}'
)
OF_LIST = LINKED % '[{"@type": "NewsArticle", "dateModified": "2024-03-05T09:00:00+01:00"}]'
ARTICLE = '<article><time datetime="2024-03-05">5 March</time> <time datetime="2021-01-01"></time>'


def day(content: bytes, media_type: str) -> str | None:
    moment = own_date(parse_file(content, media_type, "k", "file:///k"))
    return moment.date().isoformat() if moment else None


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ('<meta property="article:published_time" content="2024-03-05T10:00:00+01:00">', ""),
        ('<meta itemprop="datePublished" content="2024-03-05">', ""),
        ('<meta name="DC.date.issued" content="2024-03-05">', ""),
        ('<meta name="dcterms.modified" content="2024-03-05T08:00:00Z">', ""),
        ('<meta name="citation_publication_date" content="2024/3/5">', ""),
        ('<meta http-equiv="last-modified" content="Tue, 05 Mar 2024 08:00:00 GMT">', ""),
        ('<meta name="date" content="soon"><meta name="lastmod" content="2024-03-05">', ""),
        (
            '<meta property="article:modified_time" content="2025-01-01">'
            '<meta property="article:published_time" content="2024-03-05">',
            "",
        ),
        (GRAPH, ""),
        (OF_LIST, ""),
        (LINKED % "{broken", '<time datetime="2024-03-05T07:00">today</time>'),
        ("", ARTICLE),
        ("", '<time datetime="2020-01-01"></time><time pubdate datetime="2024-03-05"></time>'),
    ],
)
def test_a_page_tells_its_date(head: str, body: str) -> None:
    page = f"<html><head>{head}</head><body><p>Text</p>{body}</body></html>"
    assert day(page.encode(), "text/html") == "2024-03-05"


@pytest.mark.parametrize(
    "body",
    [
        "",
        '<time datetime="2020-01-01">a</time><time datetime="2021-01-01">b</time>',
        '<time datetime="PT5M">five minutes</time>',
        '<meta name="date" content="yesterday">',
    ],
)
def test_a_page_without_a_date_of_its_own(body: str) -> None:
    assert day(f"<p>Text</p>{body}".encode(), "text/html") is None


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ("/CreationDate (D:20240305120000+01'00')", "2024-03-05"),
        ("/CreationDate (D:20230101) /ModDate (D:20240305120000Z)", "2024-03-05"),
        ("/CreationDate (nothing)", None),
    ],
)
def test_a_pdf_tells_its_date(info: str, expected: Any) -> None:
    pdf = written_pdf([[Print(72, 700, 12, "A report on valves")]], "Valves")
    pdf = pdf.replace(b"<< /Title (Valves)", f"<< {info} /Title (Valves)".encode())
    assert day(pdf, "application/pdf") == expected
