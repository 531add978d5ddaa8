# ruff: noqa: RUF001
import codecs
import json
import random
import warnings
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.decode import DoubtfulEncoding, decode, is_binary
from pgblend.cli.documents.document import (
    ZIP,
    Document,
    Heading,
    ParseError,
    UnsupportedFormatError,
    storable_text,
    storable_value,
)
from pgblend.cli.documents.formats import media_type_of, parse_file
from pgblend.cli.documents.front_matter import split_front_matter
from pgblend.cli.documents.json_records import (
    RawRecord,
    lines_of,
    load_json,
    record_document,
    record_key,
    records_of,
)
from pgblend.cli.documents.media_types import (
    CSV,
    DOCX,
    DRAWIO,
    HTML,
    JSON,
    JSONL,
    MARKDOWN,
    MHT,
    PDF,
    RTF,
    TEXT,
    XLSX,
    XML,
)
from pgblend.cli.documents.parse_html import parse_html
from pgblend.cli.documents.parse_markdown import parse_markdown
from pgblend.cli.documents.parse_settings import ChunkSettings, FieldMap

# --- decoding


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"]
)
def test_unicode_encodings(encoding):
    text = "Plain text with an umlaut: ü, an emoji: 😀, and enough letters to tell."
    assert decode(text.encode(encoding)) == text


def test_utf_16_of_both_byte_orders_with_mark():
    assert decode(codecs.BOM_UTF16_BE + "größer".encode("utf-16-be")) == "größer"
    assert decode(codecs.BOM_UTF16_LE + "größer".encode("utf-16-le")) == "größer"


def test_legacy_encoding_is_detected():
    text = "Die Äpfel, Öle und Süßigkeiten der Straße waren größtenteils für die Übung. " * 5
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "J'ai déjà mangé à la cafétéria, où le café est très bon, merci à tous."),
        ("mac_roman", "J'ai déjà mangé à la cafétéria, où le café est très bon, merci à tous."),
        ("cp850", "Das Land wollte während seiner Reise nach Afrika nähere Verträge erklären."),
        ("cp1252", "El niño comió una piña por la mañana y después jugó en el jardín."),
        ("cp1250", "Zażółć gęślą jaźń, a potem pójdź do domu i połóż się spać, bo już późno."),
        ("cp1251", "Сегодня хорошая погода, и мы пойдём гулять в парк всей семьёй."),
        ("koi8-r", "Сегодня хорошая погода, и мы пойдем гулять в парк всей семьей. " * 3),
        ("cp1253", "Σήμερα ο καιρός είναι καλός και θα πάμε όλοι μαζί βόλτα στο πάρκο."),
        ("cp1254", "Bugün hava çok güzel ve ailecek parkta yürüyüşe çıkacağız, ağaçlar yeşil."),
        ("cp1256", "الطقس جميل اليوم وسوف نذهب جميعا إلى الحديقة للتنزه مع العائلة والأصدقاء."),
        ("cp874", "วันนี้อากาศดีมาก เราจะไปเดินเล่นที่สวนสาธารณะกับครอบครัวและเพื่อน ๆ"),
        ("cp932", "今日は天気がいいので、家族みんなで公園へ散歩に行きます。" * 3),
        ("gb18030", "今天天气很好，我们全家一起去公园散步，然后回家吃晚饭。" * 3),
    ],
)
def test_an_encoding_is_told_by_language(encoding, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulEncoding)
        assert decode(text.encode(encoding)) == text
        ascii_before = "Plain words come first in this file. " * 9000 + "\n"
        assert decode((ascii_before + text).encode(encoding)) == ascii_before + text


@pytest.mark.parametrize("declared", ["", "us-ascii"])
@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("iso2022_jp", "見積書 No. 7 を\n送ります"),
        ("iso2022_kr", "견적서 7 을\n보냅니다"),
        ("hz", "News: 今天天气很好。\n北京"),
        ("utf-7", "Die Mühle fällt größer aus: 1+1\nÄpfel"),
        ("utf-7", "Привет, мир.\nКак дела?"),
    ],
)
def test_letters_that_plain_bytes_switch_to_are_read(encoding, text, declared):
    assert decode(text.encode(encoding), declared=declared) == text


def test_a_letter_that_japanese_mails_lack_is_told():
    # Outlook writes circled figures, which are no part of ISO-2022-JP.
    data = "会議は三時".encode("iso2022_jp").replace(b"\x1b(B", b"-!\x1b(B")
    with pytest.warns(DoubtfulEncoding, match="1 of its letters"):
        assert decode(data, declared="iso-2022-jp") == "会議は三時\ufffd"


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m costs \x1b$",
        "1+2abc-3, a+ENCODING- and +ENCODING-, b+c, +49 40 123-4, +1 555-7",
        "(format t ~{~a~^, ~}) in ~{ab~}",
    ],
)
def test_what_looks_like_a_switch_stays(text):
    assert decode(text.encode()) == text


def test_a_short_text_is_read_with_a_doubt():
    with pytest.warns(DoubtfulEncoding, match="a guess, cp1252"):
        assert decode("déjà".encode("latin-1")) == "déjà"


def test_bytes_that_no_encoding_makes_text_of_are_refused():
    with pytest.raises(ParseError, match="encoding was not recognised"):
        decode(random.Random(1).randbytes(400).replace(b"\x00", b""))


def test_html_charset_is_believed():
    page = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>мир'
    assert decode(page.encode("windows-1251"), html=True).endswith("мир")
    page = '<meta charset="iso-8859-7"><p>λόγος'
    assert decode(page.encode("iso-8859-7"), html=True).endswith("λόγος")


@pytest.mark.parametrize("name", ["no-such-charset", "base64", "rot13"])
def test_html_charset_that_is_none_falls_back_to_detection(name):
    page = f'<meta charset="{name}"><p>Süße Äpfel für die Übung der Größe nach'
    assert "Äpfel" in decode(page.encode("cp1252"), html=True)


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("iso-8859-1", "cp1252", "The \u201cquoted\u201d word \u2014 it costs 5 \u20ac"),
        ("gb2312", "gbk", "\u6731\u9555\u57fa\u603b\u7406"),
        ("ks_c_5601-1987", "cp949", "\ud68c\uc758 \ubdc1"),
        ("iso-8859-8-i", "iso8859-8", "\u05e9\u05dc\u05d5\u05dd"),
        ("iso-2022-jp", "iso2022_jp", "\u5929\u6c17"),
        ("utf-8", "cp1252", "Die \u00c4pfel im S\u00fcden sind gr\u00f6\u00dfer als die im Norden"),
        ("iso-8859-1", "utf-8", "Die \u00c4pfel im S\u00fcden"),
    ],
)
def test_an_encoding_is_what_browsers_take_it_for(declared, encoding, text):
    assert decode(text.encode(encoding), declared=declared) == text
    page = f'<meta charset="{declared}"><p>{text}'
    assert decode(page.encode(encoding), html=True) == page


def test_a_text_with_a_few_broken_letters_is_read_and_told():
    text = "Die \u00c4pfel im S\u00fcden sind gr\u00f6\u00dfer. " * 5
    with pytest.warns(DoubtfulEncoding, match="1 of its letters are no utf-8"):
        assert decode(text.encode() + b"caf\xe9 au lait") == f"{text}caf\ufffd au lait"


def test_line_ends_become_newlines():
    assert decode(b"a\r\nb\rc\n") == "a\nb\nc\n"


def test_nul_is_refused_with_its_place():
    with pytest.raises(ParseError, match="NUL at character 3"):
        decode(b"abc\x00def, and some more text")


def test_broken_utf_16_is_refused():
    with pytest.raises(ParseError, match="begins as utf-16, but is broken at byte"):
        decode(codecs.BOM_UTF16_LE + "text".encode("utf-16-le") + b"x")


def test_binary():
    assert is_binary(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
    assert is_binary(b"PK\x03\x04" + bytes(50))
    assert not is_binary("Grüße\n\tund mehr".encode())
    assert not is_binary("Grüße".encode("utf-16"))
    assert not is_binary(b"")


def test_letters_of_facebook_are_those_that_were_meant():
    assert load_json(r'{"a": "Gr\u00c3\u00bc\u00c3\u009fe"}') == {"a": "Grüße"}
    for kept in (r'"Gr\u00fc\u00dfe"', r'"\u00c3\u00bc \u20ac"'):
        assert load_json(kept) == json.loads(kept)


@pytest.mark.parametrize(
    ("name", "head", "media_type"),
    [
        ("a.xls", b"<html><table>", HTML),
        ("a.xls", b"Item\tPrice\r\nOil\t3\r\n", CSV),
        ("a.xls", "Item\tPrice\n".encode("utf-16"), CSV),
        ("a.xls", b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:'
         b'spreadsheet">', XLSX),
        ("a.xls", b"PK\x03\x04xl/", XLSX),
        ("a.xls", b"\xd0\xcf\x11\xe0\x00\x00", XLSX),
        ("a.doc", b"{\\rtf1", RTF),
        ("a.doc", b"PK\x03\x04word/", DOCX),
        ("a.doc", b"Subject: Page\r\nContent-Type: multipart/related;\r\n b=1\r\n\r\n", MHT),
        ("a.docx", b"%PDF-1.7", PDF),
        ("a.pdf", b"<html><title>Not found", PDF),
        ("a.xml", b'<?xml version="1.0"?><?mso-application progid="Word.Document"?>', DOCX),
        ("a.xml", b"<?xml version='1.0'?><a/>", XML),
        ("map.unknown", b"<?xml version='1.0'?><map/>", XML),
        ("thoughts.mm", b"<map version='1.0.1'>", XML),
        ("thoughts.mm", b"<?xml version='1.0'?>\n<map>", XML),
        ("a.xml", b'\xef\xbb\xbf<?xml version="1.0"?>\n<mxfile host="x">', DRAWIO),
        ("plan", b"<?xml version='1.0'?><mxGraphModel>", DRAWIO),
        ("view.mm", b"#import <map>", "text/x-source"),
        ("a.txt", b"{\\rtf1", TEXT),
        ("a.json", b'{"a": {"b": 1}}\r\n\r\n{"a": 2}\n', JSONL),
        ("a.json", b'{"a": 1}\n', JSON),
        ("a.json", b'[{"a": 1},\n{"a": 2}]', JSON),
        ("a.json", b'{"a": {"b": 1},\n "c": {\n"d": 2}}', JSON),
    ],
)  # fmt: skip
def test_a_file_is_what_it_begins_as(name, head, media_type):
    assert media_type_of(PurePath(name), head) == media_type


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        *(("a.doc", "save it as .docx"), ("a.gdoc", "download"), ("a.pages", "export it as .docx")),
        *(("a.djvu", "save it as PDF"), ("a.mobi", "convert it to .epub"), ("a.hwp", "as .docx")),
    ],
)
def test_what_is_not_read_is_refused_with_a_mend(name, mend):
    with pytest.raises(UnsupportedFormatError, match=mend):
        media_type_of(PurePath(name), b"\xd0\xcf\x11\xe0\x00\x00")


# --- what the database can store


def test_storable():
    assert storable_text("a\x00b\ud800c😀") == "a\ufffdb\ufffdc😀"
    value = {"a\x00": [1, float("nan"), float("inf"), "\udfff", None, True, {"b": 1.5}]}
    assert storable_value(value) == {"a\ufffd": [1, None, None, "\ufffd", None, True, {"b": 1.5}]}


# --- Markdown


def test_markdown_headings():
    text = "# Guide to `pgblend` [here](x)\n\nText\n\n```\n# no heading\n```\n\nInstall\n-------\n"
    document = parse_markdown(text)
    same = document.text, document.title, document.metadata
    assert same == (text, "Guide to pgblend here", {})
    assert document.headings == (
        Heading(0, 1, "Guide to pgblend here"),
        Heading(text.index("Install"), 2, "Install"),
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<details><summary>more</summary>hidden", "more hidden"),
        ("<div>one</div><div>two</div>", "one two"),
        ("x<li>a</li><li>b</li>", "x a b"),
        ("a <b>t</b>wo of H<sub>2</sub>O", "a two of H2O"),
    ],
)
def test_tags_in_markdown_part_words_where_a_page_would(source, text):
    assert parse_markdown(source).text.split() == text.split()


def test_front_matter_keeps_line_numbers():
    source = "---\ntitle: The title\ntags: [a, b]\nwhen: 2024-05-01\n---\n# Heading\nText\n"
    document = parse_markdown(source)
    assert document.title == "The title"
    assert document.metadata == {"tags": ["a", "b"], "when": "2024-05-01"}
    assert document.text.splitlines()[5:] == source.splitlines()[5:]
    assert not document.text[: document.headings[0].offset].strip()


@pytest.mark.parametrize("top", ["---\n: [\n---\n", "---\njust text\n---\n", "---\nno end\n"])
def test_what_is_no_front_matter_stays(top):
    assert parse_markdown(f"{top}text").text == f"{top}text"


def test_lines_of_a_plain_text_are_front_matter_where_one_tells_its_date():
    source = "---\npriority: high\ncreated: 2024-03-16\n---\nText\n"
    found = {"priority": "high", "created": "2024-03-16"}
    assert split_front_matter(source, is_plain=True)[0] == found
    source = source.replace("created", "due")
    assert split_front_matter(source, is_plain=True) == ({}, source, ())


def test_markdown_without_heading_has_no_title():
    assert parse_markdown("plain") == Document(text="plain")


@pytest.mark.parametrize("source", [">" * 5000, "- " * 3000, "[" * 5000, "#" * 5000, "*a " * 3000])
def test_hostile_markdown(source):
    assert parse_markdown(source + "\n").text == source + "\n"


# --- HTML


def test_html_text():
    page = """<html><head><title>A &amp; B</title><style>p{}</style></head><body>
        <nav>menu</nav><script>evil()</script><!-- comment -->
        <h1>Top <em>heading</em></h1><p>One   <b>bold</b>
        line.<p>Two<br>three</p>
        <ul><li>first<li><p>second</p></ul>
        <pre>def f():\n    return 1\n</pre>
        <table><tr><th>k<th>v</tr><tr><td>1<td>2</tr></table>after</body>"""
    text, title, headings = parse_html(page)
    assert title == "A & B"
    assert text == (
        "Top heading\n\nOne bold line.\n\nTwo\nthree\n\n- first\n- second\n\n"
        "def f():\n    return 1\n\nk | v\n1 | 2\n\nafter"
    )
    assert headings == (Heading(0, 1, "Top heading"),)


def test_html_heading_offsets():
    text, title, headings = parse_html("<p>intro<h2>One</h2><p>x<h3>Two</h3>y")
    assert title == ""
    assert [text[h.offset :].split("\n")[0] for h in headings] == ["One", "Two"]


def test_html_page_wrapped_in_a_form_is_read():
    assert parse_html("<form><p>content</form>")[0] == "content"


def test_html_nested_too_deep_is_refused():
    with pytest.raises(ParseError, match="nest deeper than 10,000"):
        parse_html("<div>" * 20_000)


def test_html_of_many_paragraphs_is_not_deep():
    assert parse_html("<p>x" * 20_000)[0].count("x") == 20_000


@given(st.text(alphabet="<>/ap\"=' \n&;!-", max_size=200))
def test_any_html_is_read(page):
    text, _, headings = parse_html(page)
    assert all(0 <= heading.offset <= len(text) for heading in headings)


# --- JSON


def test_json_file_is_written_out_with_its_characters():
    document = parse_file(b'{"name": "Caf\\u00e9", "n": [1]}', JSON, "a/b.json", "file:///b.json")
    assert document.text == '{\n  "name": "Café",\n  "n": [\n    1\n  ]\n}'
    assert document.title == "b.json"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"a": 1,\n oops}', r"line 2, column 2"),
        ("", "not valid JSON"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_broken_json(data, message):
    with pytest.raises(ParseError, match=message):
        load_json(data)


@pytest.mark.parametrize("number", ["1" * 5000, "-" + "1" * 5000, "1e999"])
def test_a_number_beyond_python_s_is_its_text(number):
    assert load_json(f'{{"a": {number}}}') == {"a": number}


def test_only_an_array_of_objects_is_records():
    assert records_of([{"a": 1}, {"a": 2}]) == [RawRecord(1, {"a": 1}), RawRecord(2, {"a": 2})]
    for other in ([], [1], [{"a": 1}, 2], {"a": 1}, "text"):
        assert records_of(other) is None


def test_lines_are_numbered_and_blank_ones_left_out():
    lines = lines_of(iter([b'\xef\xbb\xbf{"a": 1}\n', b"\n", b'{"a": 2}\r\n']))
    assert [(line.place, line.value()) for line in lines] == [(1, {"a": 1}), (3, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "found"), [(b"[1]", "an array"), (b"1", "a number"), (b"null", "null")]
)
def test_a_line_that_is_no_object(line, found):
    with pytest.raises(ParseError, match=f"expected a JSON object, found {found}"):
        RawRecord(1, line).value()


def test_record_by_default_names():
    record = {"_id": 7, "title": "T", "text": "a\r\nb", "url": "http://x", "year": 1999}
    assert record_key(record, FieldMap(), "fallback") == "7"
    assert record_document(record, FieldMap(), "7", "file:///f") == Document(
        "7", "T", "a\nb", "http://x", "application/json", {"year": 1999}
    )


def test_record_by_map_with_a_path():
    fields = FieldMap({"text": "doc.body", "title": "name", "id": "key"})
    record = {"doc": {"body": ["one", "two"]}, "name": "N", "key": "k", "text": "other"}
    assert record_key(record, fields, "fallback") == "k"
    document = record_document(record, fields, "k", "file:///f")
    assert (document.text, document.title) == ("one\n\ntwo", "N")
    assert document.metadata["text"] == "other"


@pytest.mark.parametrize("identifier", [None, "", True, 1.5, ["x"]])
def test_record_without_a_usable_id(identifier):
    assert record_key({"id": identifier}, FieldMap(), "f.jsonl#3") == "f.jsonl#3"


def test_record_without_a_text_field_is_written_out():
    document = record_document({"sku": "A-1", "price": 12.5}, FieldMap(), "k", "u")
    assert document.text == "sku: A-1\nprice: 12.5"


@pytest.mark.parametrize(
    ("value", "found"), [(None, "no such field"), (5, "a number"), ({}, "an object")]
)
def test_mapped_text_field_without_text(value, found):
    with pytest.raises(
        ParseError, match=f"field 'body' holds no text: .*{found}.*--map text=FIELD"
    ):
        record_document({"body": value, "other": 1}, FieldMap({"text": "body"}), "k", "u")


# --- choice of the format


def test_media_types():
    assert media_type_of(PurePath("a.MD"), b"") == MARKDOWN
    assert media_type_of(PurePath("a.htm"), b"") == HTML
    assert media_type_of(PurePath("p.aspx?id=3"), b"\n<!DOCTYPE html>\n<html>") == HTML
    assert media_type_of(PurePath("Makefile"), b"all:\n\techo") == TEXT
    assert media_type_of(PurePath("a.PNG"), b"\x89PNG") == "image/*"
    for name, head in (
        ("a.SVG", b"<svg>"),
        ("a.7z", b"7z"),
        ("core", b"\x7fELF\x02\x01\x00\x00"),
    ):
        with pytest.raises(UnsupportedFormatError, match="unsupported format"):
            media_type_of(PurePath(name), head)


# Real files that say nothing: encrypted, cut off, no text, or of formats that are not read.
REFUSED = """2206.01062_pg3.pdf empty.eml fake-encrypted.eml password.pdf
password_protected.xlsx quine.gz simple.doc test-malformed-header.html.bin
test7Z_protected_passTika.7z testEXCEL_protected_passtika.xlsx testLZMA_oom testODTEncrypted.odt
testPPT_protected_passtika.pptx testWORD_protected_passtika.doc testWORD_protected_passtika.docx
testWORD_truncated.docx testZ_oom.Z truncated-utf16-xml.xyz"""


@pytest.mark.extended
def test_real_files_are_read_or_refused_in_one_line(shared_data):
    read = 0
    refusals = {}
    for path in sorted((shared_data / "docs").rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            try:
                media_type = media_type_of(path, data[:8192])
                if media_type == ZIP:  # its files are documents, itself it is none
                    continue
                document = parse_file(data, media_type, path.name, path.as_uri())
                chunks = split_document(document, ChunkSettings())
                json.dumps([document.metadata, chunks], allow_nan=False)
                assert "\x00" not in document.text
                assert all(chunk["token_count"] <= 400 for chunk in chunks)
                read += 1
            except ParseError as error:
                refusals[path.name] = str(error)
    assert read > 140
    assert sorted(refusals) == REFUSED.split()
    assert not any("\n" in refusal for refusal in refusals.values())


# --- headings of chunks


def test_chunks_carry_the_headings_above_them():
    words = " ".join(["word"] * 30)
    source = (
        f"# Guide\n\n{words}\n\n## Install\n\n{words}\n\n### Debian\n\n{words}\n\n## Use\n\n{words}"
    )
    document = parse_file(source.encode(), MARKDOWN, "guide.md", "file:///guide.md")
    chunks = split_document(document, ChunkSettings(40, 0, 0))
    assert document.title == "Guide"
    assert [chunk.get("heading") for chunk in chunks] == [
        None,
        "Install",
        "Install > Debian",
        "Use",
    ]
    titled = Document("k", "Other", document.text, "u", MARKDOWN, {}, document.headings)
    assert (
        split_document(titled, ChunkSettings(40, 0, 0))[2]["heading"] == "Guide > Install > Debian"
    )
