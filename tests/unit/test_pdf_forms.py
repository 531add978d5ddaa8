"""PDFs beyond their pages' text: what was typed into forms, notes and stamps, XFA, scans."""

from collections.abc import Sequence

import pytest

from pgblend.cli.documents.document import Document
from pgblend.cli.documents.parse_pdf import parse_pdf
from pgblend.cli.documents.read_pictures import PictureReader

FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
LABELS = (
    "BT /F1 11 Tf 50 700 Td (Surname:) Tj 0 -30 Td (Branch:) Tj 60 -30 Td (Yes) Tj "
    "80 0 Td (No) Tj ET"
)


def pdf(
    content: str,
    notes: Sequence[str] = (),
    more: str = "",
    objects: Sequence[str] = (),
    page: str = "",
) -> bytes:
    """A page with annotations; further objects count from 20."""
    found = {
        1: f"<< /Type /Catalog /Pages 2 0 R {more} >>",
        2: "<< /Type /Pages /Count 1 /Kids [4 0 R] >>",
        3: FONT,
        4: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources "
        "<< /Font << /F1 3 0 R >> /XObject << /Im 20 0 R >> >> "
        f"/Annots [{' '.join(f'{30 + n} 0 R' for n in range(len(notes)))}] {page} >>",
        5: f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        **{20 + n: each for n, each in enumerate(objects)},
        **{30 + n: f"<< /Type /Annot {each} >>" for n, each in enumerate(notes)},
    }
    body, places = "%PDF-1.7\n", {}
    for number, each in found.items():
        places[number] = len(body)
        body += f"{number} 0 obj\n{each}\nendobj\n"
    size = max(found) + 1
    table = "".join(
        f"{places[n]:010} 00000 n \n" if n in places else "0000000000 65535 f \n"
        for n in range(size)
    )
    return (
        f"{body}xref\n0 {size}\n{table}trailer << /Size {size} /Root 1 0 R >>\n"
        f"startxref\n{len(body)}\n%%EOF"
    ).encode("latin-1")


def stream(content: str, entries: str = "") -> str:
    return f"<< /Length {len(content)} {entries} >>\nstream\n{content}\nendstream"


def form(*fields: str, objects: Sequence[str] = ()) -> str:
    names = " ".join(f"{30 + n} 0 R" for n in range(len(fields)))
    more = f"/AcroForm << /Fields [{names}] /DR << /Font << /F1 3 0 R >> >> >>"
    document = parse_pdf(
        pdf(LABELS, [f"/Subtype /Widget {each}" for each in fields], more, objects)
    )
    return document.text


def test_what_was_typed_stands_after_its_label() -> None:
    text = form(
        "/FT /Tx /T (s) /V (Quill) /Rect [120 695 300 715]",
        "/FT /Ch /Ff 131072 /T (b) /V (o) /Opt [[(o) (Osterholm)] [(w) (West)]] "
        "/Rect [120 665 300 685]",
        "/FT /Btn /T (y) /V /Off /AS /Off /Rect [95 638 105 648]",
        "/FT /Btn /T (n) /V /On /AS /On /Rect [175 638 185 648] /AP << /N << /On 20 0 R >> >>",
        "/FT /Tx /T (free) /V (Standing alone) /Rect [120 500 300 515]",
        objects=[stream("", "/Type /XObject /Subtype /Form /BBox [0 0 10 10]")],
    )
    assert [" ".join(line.split()) for line in text.split("\n")] == [
        *("Surname: Quill", "Branch: Osterholm", "Yes [x] No", "Standing alone"),
    ]


@pytest.mark.parametrize(
    "field",
    [
        "/FT /Tx /Ff 8192 /T (s) /V (secret) /Rect [120 695 300 715]",
        "/FT /Tx /F 2 /T (s) /V (secret) /Rect [120 695 300 715]",
    ],
    ids=["password", "hidden"],
)
def test_what_nobody_sees_is_not_read(field: str) -> None:
    assert "secret" not in form(field)


def test_a_value_that_is_only_drawn_is_read() -> None:
    drawing = stream(
        "BT /F1 11 Tf 2 5 Td (Drawn name) Tj ET",
        "/Type /XObject /Subtype /Form /BBox [0 0 180 20] /Resources << /Font << /F1 3 0 R >> >>",
    )
    field = "/FT /Tx /T (s) /Rect [120 695 300 715] /AP << /N 20 0 R >>"
    other = "/FT /Ch /T (b) /V (Osterholm) /Rect [120 665 300 685] /AP << /N 20 0 R >>"
    assert "Drawn name" in form(field, objects=[drawing])
    text = form(field, other.replace("/AP << /N 20 0 R >>", ""), objects=[drawing])
    assert (text.count("Drawn name"), text.count("Osterholm")) == (1, 1)


def test_notes_and_stamps_are_read_and_links_are_not() -> None:
    text = parse_pdf(
        pdf(
            LABELS,
            [
                "/Subtype /FreeText /Contents (Pay by March) /Rect [300 690 400 715]",
                "/Subtype /Text /Contents (Is this so?) /Rect [10 400 20 410]",
                "/Subtype /Popup /Contents (Is this so?) /Rect [10 300 20 310]",
                "/Subtype /Link /Contents (a link) /Rect [50 690 90 715]",
            ],
        )
    ).text
    assert text.count("Pay by March") == text.count("Is this so?") == 1
    assert "link" not in text


def test_text_beside_the_visible_part_of_a_page_is_left_out_and_told() -> None:
    content = "BT /F1 11 Tf 50 700 Td (Seen) Tj 0 90 Td (proof_7.indd) Tj ET"
    document = parse_pdf(pdf(content, page="/CropBox [40 40 560 760]"))
    assert document.text == "Seen"
    assert [each.part for each in document.left_out] == ["text beside the visible part of pages"]


def test_what_a_file_says_of_itself_is_metadata() -> None:
    info = "<< /Keywords (weir, sluice) /Subject (Water) /Author (anonymous) >>"
    source = pdf(LABELS, objects=[info]).replace(b"trailer <<", b"trailer << /Info 20 0 R")
    metadata = parse_pdf(source).metadata
    assert metadata == {"keywords": "weir, sluice", "subject": "Water", "pages": 1}


def xfa(*packets: tuple[str, str]) -> Document:
    names = " ".join(f"({name}) {20 + n} 0 R" for n, (name, _) in enumerate(packets))
    more = f"/AcroForm << /Fields [] /XFA [{names}] >> /NeedsRendering true"
    content = "BT /F1 11 Tf 50 700 Td (Please wait...) Tj ET"
    return parse_pdf(pdf(content, more=more, objects=[stream(data) for _, data in packets]))


def test_an_xfa_form_is_read_from_its_xml() -> None:
    document = xfa(
        (
            "template",
            "<template><subform><draw><value><text>Berths</text></value></draw><field name='who'>"
            "<caption><value><text>Applicant</text></value></caption></field></subform></template>",
        ),
        (
            "datasets",
            "<datasets><data><who>Brindlewood</who><purpose>Pier</purpose></data></datasets>",
        ),
    )
    assert document.text == "Berths\nApplicant Brindlewood\npurpose: Pier"
    assert document.left_out == ()


@pytest.mark.parametrize("packets", [(), (("template", "<template><a></template>"),)])
def test_an_xfa_form_that_cannot_be_read_is_told(packets: tuple[tuple[str, str], ...]) -> None:
    document = xfa(*packets)
    assert document.text == "Please wait..."
    assert "XFA" in document.left_out[0].reason
    assert "print it to PDF" in document.left_out[0].mend


PICTURE = stream(
    "\0" * 3,
    "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceRGB",
)
STAMP = "BT /F1 11 Tf 50 700 Td (Received 12 March, page 3) Tj ET"
LONG = f"BT /F1 8 Tf 50 700 Td ({'many words of a page ' * 20}) Tj ET"


@pytest.mark.parametrize(
    ("content", "is_scan"),
    [
        (f"q 600 0 0 800 0 0 cm /Im Do Q {STAMP}", True),
        (f"q 600 0 0 300 0 0 cm /Im Do Q q 600 0 0 300 0 300 cm /Im Do Q {STAMP}", True),
        (f"q 600 0 0 200 0 0 cm /Im Do Q {STAMP}", False),
        (f"q 600 0 0 800 0 0 cm /Im Do Q {LONG}", False),
        (STAMP, False),
    ],
    ids=["picture", "strips", "small", "much text", "no picture"],
)
def test_a_page_that_is_a_picture_with_a_stamp_is_a_scan(content: str, is_scan: bool) -> None:
    document = parse_pdf(pdf(content, objects=[PICTURE]))
    told = PictureReader("", dict).add_texts(document).warnings
    assert told == (("pages without text (scanned?): 1 of 1",) if is_scan else ())


def test_attached_files_are_told() -> None:
    names = "/Names << /EmbeddedFiles << /Names [(invoice.xml) 20 0 R] >> >>"
    files = [
        "<< /Type /Filespec /F (invoice.xml) /UF (invoice.xml) /EF << /F 21 0 R >> >>",
        stream("<x/>"),
    ]
    (told,) = parse_pdf(pdf(STAMP, more=names, objects=files)).left_out
    assert (told.part, told.mend) == ("invoice.xml", "save it as a file of its own")


def test_layers_that_are_off_are_left_out_and_told() -> None:
    text = "BT /F1 12 Tf 72 {} Td ({}) Tj ET"
    content = (
        f"{text.format(700, 'For all')} /OC /L1 BDC {text.format(650, 'Of a draft')} EMC "
        f"/OC /L2 BDC {text.format(600, 'Of an edition')} EMC /Im Do /Im2 Do "
        f"BT 3 Tr /F1 12 Tf 72 400 Td (Read from a scan) Tj ET"
    )
    group = "<< /Type /OCG /Name ({}) >>"
    form_head = (
        "/Type /XObject /Subtype /Form /BBox [0 0 600 800] /OC {} 0 R "
        "/Resources << /Font << /F1 3 0 R >> >>"
    )
    data = pdf(
        content,
        more="/OCProperties << /OCGs [21 0 R 22 0 R] /D << /OFF [21 0 R] >> >>",
        objects=[
            stream(text.format(550, "A stamp"), form_head.format(21)),
            *(group.format("Draft"), group.format("Edition")),
            stream(text.format(500, "A seal"), form_head.format(22)),
        ],
    )
    resources = b"/XObject << /Im 20 0 R /Im2 23 0 R >> /Properties << /L1 21 0 R /L2 22 0 R >> >> "
    document = parse_pdf(rewritten(data, b"/XObject << /Im 20 0 R >> >> ", resources))
    assert document.text.split("\n") == [
        *("For all", "Of an edition", "A seal", "Read from a scan"),
    ]
    assert [each.part for each in document.left_out] == ["layer Draft", "a layer"]


def rewritten(data: bytes, old: bytes, new: bytes) -> bytes:
    """Replace bytes of a PDF; its table of objects is then wrong, and made anew by the reader."""
    return data.replace(old, new).replace(b"startxref", b"startxxxx")


def test_what_is_written_of_a_picture_is_read_where_it_stands() -> None:
    more = "/MarkInfo << /Marked true >> /StructTreeRoot 20 0 R"
    objects = [
        "<< /Type /StructTreeRoot /K 21 0 R /ParentTree 25 0 R >>",
        "<< /S /Document /P 20 0 R /K [22 0 R 23 0 R 24 0 R 26 0 R 27 0 R] >>",
        "<< /S /Figure /P 21 0 R /Pg 4 0 R /K 0 /Alt (A weir with two gates) >>",
        "<< /S /Figure /P 21 0 R /Pg 4 0 R /K 1 /Alt (a.png) >>",
        "<< /S /Link /P 21 0 R /Pg 4 0 R /K 2 /Alt (a link) >>",
        "<< /Nums [0 [22 0 R 23 0 R 24 0 R 27 0 R 26 0 R]] >>",
        "<< /S /Span /P 21 0 R /Pg 4 0 R /K 4 /ActualText (Drawn name) >>",
        "<< /S /P /P 21 0 R /Pg 4 0 R /K 3 /ActualText (Bo dy) >>",
    ]
    content = (
        "/P << /MCID 3 >> BDC BT /F1 12 Tf 72 700 Td (Body) Tj ET EMC "
        "BT /F1 12 Tf 72 500 Td (After) Tj 200 200 Td (Beside) Tj 0 -200 Td (End) Tj ET "
    ) + " ".join(f"/X << /MCID {n} >> BDC 72 {600 - 9 * n} 9 9 re f EMC" for n in (0, 1, 2, 4))
    data = pdf(content, more=more, objects=objects)
    document = parse_pdf(rewritten(data, b"/Type /Page /P", b"/Type /Page /StructParents 0 /P"))
    assert document.text.split("\n") == [
        *("Body", "A weir with two gates", "Drawn name", "After", "Beside", "End"),
    ]
