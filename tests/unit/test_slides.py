"""PowerPoint: slides with what is drawn on them, their notes and comments, and its relatives."""

import pytest

from pgblend.cli.documents.document import ParseError
from pgblend.cli.documents.parse_slides import parse_slides
from support.office_files import CHART, CHART_TEXT, DIAGRAM, NAMESPACES, package, root


def shape(text: str, kind: str = "", top: int | None = None) -> str:
    place = "" if top is None else f'<a:xfrm><a:off x="0" y="{top}"/></a:xfrm>'
    mark = f'<p:ph type="{kind}" idx="{len(kind)}"/>' if kind else ""
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{mark}</p:nvPr></p:nvSpPr><p:spPr>{place}</p:spPr>"
        f"<p:txBody>{lines}</p:txBody></p:sp>"
    )


def slide(*shapes: str, name: str = "p:sld") -> str:
    return root(name, f"<p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld>")


def frame(content: str) -> str:
    return (
        '<p:graphicFrame><p:xfrm><a:off x="0" y="900"/></p:xfrm><a:graphic><a:graphicData>'
        f"{content}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def deck(slides: list[str], relations: dict[str, str] | None = None, **parts: str) -> bytes:
    """Return a file whose first slide has relations to further parts."""
    names = [f"ppt/slide{n}.xml" for n in range(len(slides))]
    items = "".join(f'<p:sldId r:id="s{n}"/>' for n in range(len(slides)))
    files = dict(zip(names, slides, strict=True)) | {f"ppt/{k}.xml": v for k, v in parts.items()}
    files["ppt/presentation.xml"] = (
        f"<p:presentation {NAMESPACES}><p:sldIdLst>{items}</p:sldIdLst></p:presentation>"
    )
    targets = {f"s{n}": f"slide {name}" for n, name in enumerate(names)}
    each = {"ppt/presentation.xml": targets, "ppt/slide0.xml": relations or {}}
    if "layout" in parts:
        each |= {name: each.get(name, {}) | {"l": "slideLayout ppt/layout.xml"} for name in names}
    return package("ppt/presentation.xml", files, each)


def test_everything_on_a_slide_is_read_in_its_order() -> None:
    group = f"<p:grpSp><p:spPr/>{shape('In a group')}</p:grpSp>"
    other = f"<mc:AlternateContent><mc:Choice>{shape('Newer', top=800)}</mc:Choice>" + (
        f"<mc:Fallback>{shape('Older', top=800)}</mc:Fallback></mc:AlternateContent>"
    )
    number = (
        '<p:sp><p:txBody><a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p></p:txBody></p:sp>'
    )
    shapes = (
        *(shape("Low\nline", top=700), shape("High", top=100), shape("The title", "title"), group),
        *(other, number, frame('<c:chart r:id="c"/>'), frame('<dgm:relIds r:dm="d"/>')),
    )
    data = deck(
        [slide(*shapes)],
        {
            "c": "chart ppt/chart.xml",
            "d": "diagramData ppt/data.xml",
            "n": "notesSlide ppt/notes.xml",
            "k": "comments ppt/comment.xml",
        },
        chart=CHART,
        data=DIAGRAM,
        notes=slide(shape("7", "sldNum"), shape("Say it slowly", "body"), name="p:notes"),
        comment=root("p:cmLst", "<p:cm><p:text>Is this so?</p:text></p:cm>"),
    )
    document = parse_slides(data)
    assert document.text.split("\n\n") == [
        *("The title", "In a group", "High", "Low\nline", "Newer", *CHART_TEXT.split("\n\n")),
        *("Plan\nBuild", "Say it slowly", "Is this so?"),
    ]
    assert [heading.text for heading in document.headings] == ["The title"]


def test_what_layouts_and_feet_say_comes_once() -> None:
    layout = slide(shape("Mill Ltd"), shape("Click to add", "body", 500), name="p:sldLayout")
    slides = [
        slide(shape("Low", top=600), shape("Middle", "body"), shape("Internal", "ftr"))
        for _ in range(2)
    ]
    document = parse_slides(deck(slides, layout=layout))
    assert document.text.split("\n\n") == [
        *("Internal", "Middle", "Low", "Mill Ltd", "Middle", "Low"),
    ]
    assert [place.page for place in document.places] == [1, 2]


def test_what_is_written_of_a_picture_is_read_and_what_is_hidden_told() -> None:
    picture = '<p:pic><p:nvPicPr><p:cNvPr id="2" {}/></p:nvPicPr></p:pic>'
    shapes = (
        picture.format('descr="A weir with two gates"'),
        picture.format('descr="a.png"'),
        picture.format('hidden="1" descr="switched off"'),
    )
    hidden = slide(shape("Of a hidden slide")).replace("<p:sld ", '<p:sld show="0" ')
    also = hidden.replace('"0"', '"false"').replace("a hidden", "another")
    shown = hidden.replace('"0"', '"true"').replace("a hidden", "a shown")
    document = parse_slides(deck([slide(*shapes), hidden, also, shown]))
    assert document.text.split("\n\n") == [
        *("A weir with two gates", "Of a hidden slide", "Of another slide", "Of a shown slide"),
    ]
    assert [each.part for each in document.left_out] == ["slide 1: hidden shapes"]
    assert document.warnings == ("hidden slides are read as well: 2, 3",)


def test_a_line_end_that_powerpoint_escapes_is_one() -> None:
    assert parse_slides(deck([slide(shape("one_x000B_two _x0041_"))])).text == "one\ntwo A"


def test_a_formula_on_a_slide_is_read_in_one_line() -> None:
    math = "<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r>"
    math += "</m:den></m:f></m:oMath>"
    formula = shape("Let x").replace("</a:r>", f"</a:r><a14:m>{math}</a14:m>")
    formula = formula.replace("<a14:m>", '<a14:m xmlns:a14="urn:x">')
    assert parse_slides(deck([slide(formula)])).text == "Let xa/b"


def test_a_slide_that_is_missing_is_told() -> None:
    whole = deck([slide(shape("One")), slide(shape("Two"))])
    document = parse_slides(whole.replace(b"ppt/slide1.xml", b"ppt/slidex.xml"))
    assert document.text == "One"
    assert [(each.part, each.reason) for each in document.left_out] == [
        ("ppt/slide1.xml", "missing in the file")
    ]


def test_what_is_no_presentation() -> None:
    with pytest.raises(ParseError, match=r"lacks 'ppt/presentation\.xml'"):
        parse_slides(package("word/document.xml", {}, {}))
