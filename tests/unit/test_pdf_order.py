"""The reading order of PDFs that programs draw in whatever order, and their running heads."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from pgblend.cli.documents.document import Document
from pgblend.cli.documents.parse_pdf import parse_pdf
from pgblend.cli.documents.pdf_layout import PdfPiece, in_order
from pgblend.cli.documents.pdf_pages import joined, own_hyphens
from support.written_pdf import Print, written_pdf

WORDS = "harbour winter ledger copper anchor meadow violin barley lantern timber orchard saddle"


def column(name: str, count: int, left: float, top: float = 700, words: int = 5) -> list[Print]:
    """Lines of a column, each with a word of its own: name1, name2, …"""
    some = WORDS.split()
    return [
        Print(
            left,
            top - 13 * n,
            10,
            f"{name}{n} " + " ".join(some[(n + k) % 12] for k in range(words)),
        )
        for n in range(1, count + 1)
    ]


def by_rows(*columns: Sequence[Print]) -> list[Print]:
    """Draw columns side by side, row by row."""
    return sorted((each for some in columns for each in some), key=lambda each: (-each.y, each.x))


def names(document: Document, pattern: str = r"[a-z]+\d+") -> list[str]:
    return re.findall(pattern, document.text)


LEFT, RIGHT = column("left", 30, 60), column("right", 30, 320)
TITLE = [
    Print(60, 740, 16, "A title0 that reaches over both of the columns of this page, to its end")
]
MIDDLE = [
    Print(60, 500, 10, "middle0 words that are set over both columns, with a caption for all of it")
]
RAISED = [*MIDDLE, Print(500, 502, 10, "mark0")]
NOTE = [
    Print(60, 200, 8, "note0 a footnote that goes over both of the columns at the foot of the page")
]
UPPER = [column("left", 14, 60), column("right", 14, 320)]
LOWER = [column("low", 14, 60, 490), column("deep", 14, 320, 490)]
THREE = [column(name, 25, left, words=3) for name, left in (("a", 50), ("b", 230), ("c", 410))]
HEAD = [Print(60, 760, 9, "top0 of the page")]
BODY = column("line", 30, 60, words=9)
FIGURES = [
    Print(left, 500 - 13 * n, 10, f"{name}{n}")
    for n in range(1, 9)
    for name, left in (("label", 60), ("x", 250), ("y", 400))
]

SMALL_NOTES = [
    column(name, 3, left, 180, words=4) for name, left in (("noteb", 60), ("notec", 320))
]
NOTED = [column("left", 30, 60), column("right", 30, 320)]
OTHER_LINES = [
    each._replace(y=705 - 11.4 * n, size=9) for n, each in enumerate(column("right", 44, 320))
]
MARGIN = [each._replace(size=8) for each in column("side", 30, 40, words=2)]
WIDE = column("wide", 40, 190, words=8)
TABLED = [
    *column("left", 12, 60),
    *(
        Print(60 + 70 * place, 530 - 13 * n, 10, f"{name}{n}")
        for n in range(1, 6)
        for place, name in enumerate(("label", "x", "y"))
    ),
    *column("after", 12, 60, 440),
]


# Of Helvetica, in parts of its size; letters that are not here have .56.
WIDTHS = dict.fromkeys("ilj", 0.22) | dict.fromkeys("tf ", 0.28) | {"r": 0.33, "m": 0.83, "w": 0.72}


def word_by_word(lines: Sequence[Print]) -> list[Print]:
    """Draw each word by itself."""
    return [
        line._replace(
            x=line.x
            + line.size * sum(WIDTHS.get(each, 0.56) for each in line.text[: word.start()]),
            text=word.group(),
        )
        for line in lines
        for word in re.finditer(r"\S+", line.text)
    ]


def order(*columns: Sequence[Print]) -> list[str]:
    text = " ".join(each.text for some in columns for each in some)
    return re.findall(r"[a-z]+\d+", text)


@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        (by_rows(LEFT, RIGHT), order(LEFT, RIGHT)),
        ([*RIGHT, *LEFT], order(LEFT, RIGHT)),
        ([*by_rows(LEFT, RIGHT), *TITLE], order(TITLE, LEFT, RIGHT)),
        (by_rows(*THREE), order(*THREE)),
        ([*LOWER[1], *by_rows(*UPPER), *MIDDLE, *LOWER[0]], order(*UPPER, MIDDLE, *LOWER)),
        ([*NOTE, *by_rows(LEFT, RIGHT)], order(LEFT, RIGHT, NOTE)),
        ([*BODY, *HEAD], order(HEAD, BODY)),
        (random.Random(7).sample([*LEFT, *RIGHT], 60), order(LEFT, RIGHT)),
        (
            [*column("line", 12, 60, words=9), *FIGURES],
            [*order(column("line", 12, 60)), *order(FIGURES)],
        ),
        (by_rows(LEFT, column("right", 12, 320)), order(LEFT, column("right", 12, 320))),
        (
            [*SMALL_NOTES[1], *SMALL_NOTES[0], *NOTED[1], *NOTED[0]],
            order(NOTED[0], SMALL_NOTES[0], NOTED[1], SMALL_NOTES[1]),
        ),
        (by_rows(LEFT, OTHER_LINES), order(LEFT, OTHER_LINES)),
        (by_rows(MARGIN, WIDE), order(MARGIN, WIDE)),
        (word_by_word(by_rows(LEFT, RIGHT)), order(LEFT, RIGHT)),
        (by_rows(TABLED, RIGHT), order(TABLED, RIGHT)),
        ([*by_rows(*UPPER), *RAISED, *LOWER[0], *LOWER[1]], order(*UPPER, RAISED, *LOWER)),
    ],
    ids=[
        *("rows", "right column first", "title last", "three columns", "caption between"),
        *("footnote first", "head last", "shuffled", "table stays", "short column"),
        *("notes of columns", "other lines", "margin", "word by word", "table in a column"),
        "a mark above its line",
    ],
)
def test_columns_are_read_one_after_the_other(drawn: list[Print], read: list[str]) -> None:
    assert names(parse_pdf(written_pdf([drawn]))) == read


@pytest.mark.parametrize("by_line", [True, False])
def test_a_word_divided_over_the_gutter_or_two_pages_is_whole(by_line: bool) -> None:
    left, right = column("left", 20, 60), column("right", 20, 320)
    left[-1] = left[-1]._replace(text="who goes by the name of watch-")
    right[0] = right[0]._replace(text="maker and keeps all of the clocks")
    right[-1] = right[-1]._replace(text="he lives beside the old light-")
    drawn = by_rows(left, right) if by_line else [*left, *right]
    after = [Print(60, 700, 10, "house, as all of his fathers did"), Print(60, 686, 10, "before.")]
    document = parse_pdf(written_pdf([drawn, after]))
    assert "of watchmaker and keeps" in document.text
    assert "beside the old lighthouse,\n\nas all of his fathers did\nbefore." in document.text


def test_words_divided_in_a_column_are_whole() -> None:
    lines = [
        f"left{n} some more words of this col-" if n % 2 else f"umn go on{n} for a while here"
        for n in range(20)
    ]
    left = [Print(60, 700 - 13 * n, 10, line) for n, line in enumerate(lines)]
    document = parse_pdf(written_pdf([by_rows(left, column("right", 20, 320))]))
    assert document.text.count("column go on") == 9
    assert "right1" not in document.text[: document.text.index("left19")]


def book(pages: int, heads: Sequence[str], feet: Sequence[str]) -> bytes:
    """A book whose heads are drawn last, its feet first; `{}` is the page's number."""
    return written_pdf(
        [
            [
                Print(280, 30, 9, feet[n % len(feet)].format(n)),
                *column(f"p{chr(97 + n)}", 20, 60, words=8),
                Print(60, 765, 9, heads[n % len(heads)].format(n)),
            ]
            for n in range(pages)
        ]
    )


@pytest.mark.parametrize(
    ("heads", "feet", "kept"),
    [
        (
            ["Annual report of the mill"],
            ["Page {} of 8"],
            (["Annual report of the mill"], ["Page 0 of 8"]),
        ),
        (["Left head", "Right head"], ["{}"], (["Left head", "Right head"], [])),
        (["Chapter {}"], ["- {} -"], (["Chapter 0"], [])),
    ],
)
def test_heads_and_feet_that_repeat_are_metadata(
    heads: list[str], feet: list[str], kept: tuple[list[str], list[str]]
) -> None:
    document = parse_pdf(book(8, heads, feet))
    found = document.metadata.get("headers", []), document.metadata.get("footers", [])
    assert found == kept
    assert not re.search(r"head|Page|Chapter|Annual|^- ", document.text, re.MULTILINE)
    assert [place.page for place in document.places] == list(range(1, 9))
    assert names(document, r"p[a-h]\d+")[:21:20] == ["pa1", "pb1"]


def test_heads_whose_numbers_count_no_pages_stay() -> None:
    """As invoices have, a page each: their numbers are what people look for."""
    numbers = (4711, 4800, 4712, 5023, 61, 7)
    pages = [
        [
            Print(60, 765, 9, f"Invoice {number} of the mill"),
            *column(name, 20, 60, words=8),
            Print(280, 30, 9, f"Sheet 3-{place}"),
        ]
        for place, (name, number) in enumerate(zip("abcdef", numbers, strict=True), 1)
    ]
    document = parse_pdf(written_pdf(pages))
    assert all(f"Invoice {number} of" in document.text for number in numbers)
    assert "Sheet" not in document.text


def test_what_stands_on_few_pages_stays() -> None:
    pages = [
        [Print(60, 765, 9, f"Head of {name}"), *column(name, 10, 60)]
        for name in ("a", "b", "c", "d")
    ]
    pages += [[Print(60, 765, 9, "Head of a"), *column("e", 10, 60)]]
    document = parse_pdf(written_pdf(pages))
    assert document.text.count("Head of a") == 2
    assert "headers" not in document.metadata


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        (
            "multi-column-2p.pdf",
            [
                "outperforms a strong Lucene-BM25 system",
                "1 Introduction",
                "often observed in practice",
            ],
        ),
        ("list-item-example.pdf", ["What is the product idea", "The role of the design team"]),
    ],
)
def test_real_columns_are_in_order(shared_data: Path, name: str, sentences: list[str]) -> None:
    text = parse_pdf((shared_data / "docs" / "good" / name).read_bytes()).text
    places = [" ".join(text.split()).find(sentence) for sentence in sentences]
    assert -1 not in places
    assert places == sorted(places)


def test_a_row_whose_cells_are_single_letters_is_one_line() -> None:
    rows = [
        Print(left, 700 - 14 * n, 10, text)
        for n in range(8)
        for left, text in ((60, f"Rivet {n}"), (200, f"{n}"), (300, f"{n}2.50"), (400, "A"))
    ]
    text = parse_pdf(written_pdf([rows])).text
    assert text.split("\n") == [f"Rivet {n} {n} {n}2.50 A" for n in range(8)]


@pytest.mark.parametrize("shown", [0, 90, 180, 270])
@pytest.mark.parametrize("drawn", [0, 90, 180, 270])
def test_text_is_read_upright_however_its_page_is_turned(shown: int, drawn: int) -> None:
    lines = [f"line{n} of the sheet with words" for n in range(1, 9)]
    places = [(150, 650 - 14 * n, line) for n, line in enumerate(lines)]
    data = written_pdf([[Print(x, y, 10, line) for x, y, line in places]])
    turns = {90: "0 1 -1 0", 180: "-1 0 0 -1", 270: "0 -1 1 0", 0: "1 0 0 1"}
    for x, y, _ in places:
        at = {0: (x, y), 90: (800 - y, x), 180: (600 - x, 800 - y), 270: (y - 100, 600 - x)}
        left, low = at[drawn]
        move = f"{x:g} {y:g} Td".encode()
        data = data.replace(move, f"{turns[drawn]} {left:g} {low:g} Tm".encode())
    data = data.replace(b"/MediaBox", f"/Rotate {shown} /MediaBox".encode())
    assert parse_pdf(data).text.split("\n") == lines


def test_a_hyphen_that_belongs_to_a_word_stays() -> None:
    lines = ["The well-known mill is a well-", "known one, its state-of-the-", "art wheel of"]
    lines += ["non-nar-", "cotic art too. Hyphen-", "ation is known, hyphenation is used. A co-"]
    prints = [Print(60, 700 - 14 * n, 10, line) for n, line in enumerate([*lines, "operation."])]
    text = " ".join(parse_pdf(written_pdf([prints])).text.split())
    assert text == (
        "The well-known mill is a well-known one, its state-of-the-art wheel of non-narcotic art "
        "too. Hyphenation is known, hyphenation is used. A cooperation."
    )


def test_a_hyphen_that_stands_for_the_next_word_s_end_stays() -> None:
    lines = ["Ein-", "und Ausfuhr, Haupt-", "oder Nebenweg, two-", "to three-year plans, a toma-"]
    prints = [Print(60, 700 - 14 * n, 10, line) for n, line in enumerate([*lines, "to, tomato"])]
    text = " ".join(parse_pdf(written_pdf([prints])).text.split())
    assert text == (
        "Ein- und Ausfuhr, Haupt- oder Nebenweg, two- to three-year plans, a tomato, tomato"
    )


def test_a_line_of_letters_and_dashes_without_end_is_read_at_once() -> None:
    """It took minutes where each of its places was the beginning of a word."""
    line = "a-" * 60_000
    assert own_hyphens([[line, "well-\ufffe", "known"]]) == frozenset()
    assert joined([line, "hyphen\ufffe", "ation"]) == f"{line}\nhyphenation"


def test_figures_above_a_line_are_raised_and_part_no_line():
    page = [
        Print(60, 700, 10, "Berlin"),
        Print(85.7, 703.6, 7, "1"),
        Print(89.6, 700, 10, " has 10"),
        Print(122.4, 703.6, 7, "6"),
        Print(126.3, 700, 10, " boats, H"),
        Print(166.3, 698, 7, "2"),
        Print(170.2, 700, 10, "O and 2024."),
        Print(225, 703.6, 7, "2,3"),
        Print(60, 688, 10, "The next line."),
    ]
    text = "Berlin¹ has 10⁶ boats, H2O and 2024.²,³\nThe next line."
    assert parse_pdf(written_pdf([page])).text == text


def test_a_line_goes_on_where_it_broke_after_a_raised_figure():
    number = PdfPiece("2", 60, 203, 63, 208, 0, 0)
    note = PdfPiece("For instance QSLr", 63.4, 198, 130, 207, 1, 1)
    rest = PdfPiece(", so", 132.5, 198, 150, 207, 2, 2)
    word = PdfPiece("would", 152, 198, 170, 207, 3, 3)
    below = PdfPiece("below", 60, 187, 90, 196, 4, 4)
    lines = in_order([number, note, rest, word, below])
    texts = ["".join(piece.text for piece in line) for line in lines]
    assert texts == ["2 For instance QSLr, so would", "below"]


def test_what_is_on_its_side_has_no_raised_figures():
    page = written_pdf([[*BODY[:9], Print(40, 300, 10, "arXiv:2103.15348v2 [cs.CV] 21 Jun 2021")]])
    turned = page.replace(b"40 300 Td", b"0 1 -1 0 40 300 Tm")
    assert "arXiv:2103.15348v2 [cs.CV] 21 Jun 2021" in parse_pdf(turned).text
