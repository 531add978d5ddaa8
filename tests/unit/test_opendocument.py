"""OpenDocument texts: numbers before lists and headings, what is hidden, described, calculated."""

import pytest

from pgblend.cli.documents.document import Document
from pgblend.cli.documents.parse_opendocument import parse_opendocument

_NAMES = ("office", "text", "style", "drawing", "table", "svg-compatible", "presentation", "form")
_PREFIXES = {"drawing": "draw", "svg-compatible": "svg"}
SPACES = " ".join(
    f'xmlns:{_PREFIXES.get(name, name)}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in _NAMES
) + (
    ' xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"'
    ' xmlns:m="http://www.w3.org/1998/Math/MathML"'
)
LEVEL = '<text:list-level-style-number text:level="{}" style:num-format="{}" {}/>'
BULLET = '<text:list-level-style-bullet text:level="1" text:bullet-char="x"/>'


def read(body: str, styles: str = "", kind: str = "text") -> Document:
    return parse_opendocument(
        f"<office:document {SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document>".encode()
    )


def lines(document: Document) -> list[str]:
    return [" ".join(line.split()) for line in document.text.split("\n") if line.strip()]


def styled(*levels: str) -> str:
    return f'<text:list-style style:name="L">{"".join(levels)}</text:list-style>'


def item(content: str, more: str = "") -> str:
    inner = content if content.startswith("<") else f"<text:p>{content}</text:p>"
    return f"<text:list-item {more}>{inner}</text:list-item>"


def listed(*items: str, more: str = 'text:style-name="L"') -> str:
    return f"<text:list {more}>{''.join(items)}</text:list>"


NESTED = listed(
    item("<text:p>Rent</text:p>" + listed(item("Due"), item("Late"), more="")),
    item("<text:p>Notice</text:p><text:p>in writing</text:p>" + listed(item("Form"), more="")),
)


@pytest.mark.parametrize(
    ("levels", "body", "read_as"),
    [
        (
            (LEVEL.format(1, "1", 'style:num-suffix="."'),
             LEVEL.format(2, "a", 'style:num-prefix="(" style:num-suffix=")"')),
            NESTED,
            ["1. Rent", "(a) Due", "(b) Late", "2. Notice", "in writing", "(a) Form"],
        ),
        (
            (LEVEL.format(1, "I", ""), LEVEL.format(2, "1", 'text:display-levels="2"')),
            NESTED,
            ["I Rent", "I.1 Due", "I.2 Late", "II Notice", "in writing", "II.1 Form"],
        ),
        (
            (LEVEL.format(1, "1", 'loext:num-list-format="\u00a7 %1%"'),
             LEVEL.format(2, "1", 'loext:num-list-format="%1%-%2%)"')),
            NESTED,
            ["\u00a7 1 Rent", "1-1) Due", "1-2) Late", "\u00a7 2 Notice", "in writing",
             "2-1) Form"],
        ),
        (
            (LEVEL.format(1, "A", 'text:start-value="3"'),),
            listed(item("c"), item("h", 'text:start-value="8"'))
            + listed(item("i"), more='text:style-name="L" text:continue-numbering="true"')
            + listed(item("c again"), "<text:list-header><text:p>head</text:p></text:list-header>"),
            ["C c", "H h", "I i", "C c again", "head"],
        ),
        ((BULLET,), listed(item("a sign")), ["- a sign"]),
        ((LEVEL.format(1, "", ""),), listed(item("without")), ["without"]),
        (
            (LEVEL.format(1, "1", ""),),
            f"<table:table><table:table-row><table:table-cell>{listed(item('in a cell'))}"
            "</table:table-cell></table:table-row></table:table>",
            ["1 in a cell"],
        ),
    ],
)  # fmt: skip
def test_lists_have_the_numbers_that_they_show(levels, body, read_as) -> None:
    assert lines(read(body, styled(*levels))) == read_as


def test_headings_have_the_numbers_of_the_outline() -> None:
    levels = LEVEL.format(1, "1", "") + LEVEL.format(2, "1", 'text:display-levels="2"')
    styles = f"<text:outline-style>{levels.replace('list-level', 'outline-level')}"
    styles += '</text:outline-style><style:style style:name="Plain" style:list-style-name=""/>'
    heading = '<text:h text:outline-level="{}" {}>{}</text:h>'
    body = (
        heading.format(1, "", "Scope") + heading.format(2, "", "Terms")
        + heading.format(1, 'text:style-name="Plain"', "Preface")
        + heading.format(1, "", "Duties")
        + heading.format(2, 'text:start-value="4"', "Late") + heading.format(3, "", "Deep")
    )  # fmt: skip
    document = read(body, styles)
    found = [heading.text for heading in document.headings]
    assert found == ["1 Scope", "1.1 Terms", "Preface", "2 Duties", "2.4 Late", "Deep"]
    assert lines(document) == found


def test_what_is_switched_off_is_left_out_and_told() -> None:
    styles = (
        '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
    )
    body = (
        '<text:p>seen <text:span text:style-name="T1">secret</text:span>words</text:p>'
        '<text:section text:display="none"><text:p>secret</text:p></text:section>'
        '<text:p text:style-name="T1">secret</text:p>'
    )
    document = read(body, styles)
    assert lines(document) == ["seen words"]
    assert [each.part for each in document.left_out] == ["hidden text"]
    assert read("<text:p>seen</text:p>", styles).left_out == ()


def test_what_is_written_of_a_drawing_is_read_where_it_stands() -> None:
    frame = "<draw:frame><draw:image/>{}</draw:frame>"
    both = "<svg:title>Weir</svg:title><svg:desc>A weir with two gates</svg:desc>"
    name = frame.format("<svg:desc>a.png</svg:desc>")
    body = f"<text:p>See {frame.format(both)}and {name}.</text:p>"
    assert lines(read(body)) == ["See Weir. A weir with two gates and ."]
    slide = f"<draw:page>{frame.format('<svg:desc>Plan of the lock</svg:desc>')}</draw:page>"
    document = read(slide, kind="presentation")
    assert (document.text, document.places[0].page) == ("Plan of the lock", 1)


def test_formulas_are_words_and_pronunciation_is_none() -> None:
    formula = (
        "<draw:frame><draw:object><m:math><m:mfrac><m:mi>a</m:mi><m:mi>b</m:mi></m:mfrac></m:math>"
        "</draw:object><draw:image/></draw:frame>"
    )
    ruby = (
        "<text:ruby><text:ruby-base>\u6771\u4eac</text:ruby-base>"
        "<text:ruby-text>toukyou</text:ruby-text></text:ruby>"
    )
    assert lines(read(f"<text:p>Let {formula} be</text:p><text:p>{ruby} Station</text:p>")) == [
        *("Let a/b be", "\u6771\u4eac Station"),
    ]


def test_fields_of_word_spaces_and_numbers_of_slides_read_as_shown() -> None:
    mark = '<field:fieldmark field:type="x.{}">{}</field:fieldmark>'
    param = '<field:param field:name="{}" field:value="{}"/>'.format
    entries = param("Dropdown_ListEntry", "Eel") + param("Dropdown_ListEntry", "Carp")
    fields = mark.format("FORMCHECKBOX", param("Checkbox_Checked", "true")) + mark.format(
        "FORMDROPDOWN", entries + param("Dropdown_Selected", "1")
    )
    space = 'xmlns:field="urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0"'
    number = "<text:page-number>&lt;number&gt;</text:page-number>"
    document = read(f"<text:p {space}>Fresh:\n   {fields}\n  {number}</text:p>")
    assert lines(document) == ["Fresh: \u2612Carp"]


def test_what_was_typed_into_a_form_stands_after_its_label() -> None:
    fields = (
        '<form:text form:id="a" form:label="Name" form:current-value="Ann Lee"/>'
        '<form:checkbox form:id="b" form:label="Agreed" form:current-state="checked"/>'
        '<form:radio form:id="c" form:label="Boat"/>'
        '<form:listbox form:id="d"><form:option form:label="Eel"/></form:listbox>'
        '<form:password form:id="e" form:current-value="secret"/>'
    )
    controls = "".join(f'<draw:control draw:control="{each}"/>' for each in "abcde")
    document = read(
        f"<office:forms><form:form>{fields}</form:form></office:forms><text:p>{controls}</text:p>"
    )
    assert lines(document) == ["Name Ann Lee \u2612 Agreed \u2610 Boat Eel"]


def test_the_words_of_a_drawing_are_read_whatever_its_shapes() -> None:
    body = (
        '<draw:page draw:name="p"><draw:line><svg:desc>A pipe</svg:desc><text:p>feeds</text:p>'
        "</draw:line><draw:ellipse><svg:title>A tank</svg:title></draw:ellipse></draw:page>"
    )
    assert lines(read(body, kind="drawing")) == ["feeds", "A pipe", "A tank"]
