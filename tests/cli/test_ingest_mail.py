"""Mail as it comes: every container, all of its text, and what is attached as documents."""

import base64
import binascii
import io
import shutil
import zipfile
from email.message import EmailMessage
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest
from click.testing import CliRunner

from pgblend.cli.documents.mail_containers import html_of_rtf
from pgblend.cli.main import cli
from support.mails import enveloped_data, mail, signed_data, tnef
from support.outlook import ole, properties

WILD = Path(__file__).parents[1] / "wild"
_CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//x//y//EN
BEGIN:VEVENT
UID:1@x
DTSTAMP:20260501T080000Z
DTSTART;TZID=Europe/Berlin:20260504T100000
DTEND;TZID=Europe/Berlin:20260504T113000
SUMMARY:Audit of the granary
LOCATION:Quayside hall
ORGANIZER;CN=Ann Berg:mailto:ann@kontor.example
DESCRIPTION:Bring the ledgers of barley\\, rye and
  wheatmeal.
END:VEVENT
END:VCALENDAR
"""


def _with_files() -> EmailMessage:
    message = mail("Offer for the bridge", "The offer is attached.")
    message.add_attachment("Span;Price\nnorth;4711\n", subtype="csv", filename="prices.csv")
    message.add_attachment(b"\0\1\2\3", "application", "octet-stream", filename="drawing.dwg")
    inner = mail("Survey of the river", "The riverbed is schist.")
    inner.add_attachment("Depth of the moorings: nine.\n", filename="depth.txt")
    message.add_attachment(inner)
    message.add_attachment("<h1>Terms</h1><p>Payment by quarterdays.", "html", filename="terms")
    return message


def _apple() -> MIMEMultipart:
    """As Apple's Mail writes: the alternative of the plain text holds files between texts."""
    mixed = MIMEMultipart("mixed")
    mixed.attach(MIMEText("<p>Here are the plans of the cooperage.</p>", "html"))
    note = MIMEApplication(b"Oak staves from Limousin.", "octet-stream")
    note.add_header("Content-Disposition", "inline", filename="staves.txt")
    mixed.attach(note)
    mixed.attach(MIMEText("<p>And the hoops are from Sheffield.</p>", "html"))
    whole = MIMEMultipart("alternative")
    whole["Subject"], whole["From"], whole["Date"] = (
        "Plans",
        "a@b.example",
        "4 May 2026 10:00:00 +0200",
    )
    whole.attach(
        MIMEText("Here are the plans of the cooperage.\n\nAnd the hoops are from Sheffield.")
    )
    whole.attach(mixed)
    return whole


def _outlook_to_others() -> EmailMessage:
    message = mail("Minutes")
    data = tnef(
        "<p>The chandlery closes at <b>Michaelmas</b>.</p>", {"list.txt": b"Tallow and wick"}
    )
    message.add_attachment(data, "application", "ms-tnef", filename="winmail.dat")
    return message


def _torn() -> EmailMessage:
    """A file for Outlook by another name, whose second attachment is cut off."""
    message = mail("Torn")
    data = tnef("<p>The gunwale is of ash.</p>", {"one.txt": b"Oakum", "two.txt": b"Pitch" * 20})
    message.add_attachment(data[:-50], "application", "octet-stream", filename="att0001.dat")
    return message


def _signed() -> bytes:
    inner = b"Content-Type: text/plain\r\n\r\nThe seal of the Hanse is genuine.\r\n"
    body = base64.encodebytes(signed_data(inner)).decode()
    head = "From: a@b.example\nTo: c@d.example\nSubject: Signed\nDate: 4 May 2026 10:00:00 +0200\n"
    kind = "Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n"
    return f"{head}{kind}Content-Transfer-Encoding: base64\n\n{body}".encode()


def _uuencoded() -> bytes:
    line = binascii.b2a_uu(b"Pewter tankards, forty.").decode()
    text = f"The list follows.\n\nbegin 644 tankards.txt\n{line}`\nend\n\nBest regards"
    return mail("Old style", text).as_bytes()


def _flowed() -> bytes:
    """As programs write that break words of a long line, and take the break out again."""
    head = "From: a@b.example\nTo: c@d.example\nSubject: Flowed\nDate: 4 May 2026 10:00:00 +0200\n"
    kind = "Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes\n\n"
    return (
        f"{head}{kind}The Donaudampf \nschiff sails at the \n ebb.\n> quoted\n-- \nAnn\n".encode()
    )


def _richer() -> EmailMessage:
    """A plain text that lacks the table which the HTML one has."""
    said = "The pontoons are moored below the bridge, and the harbour office has their numbers."
    message = mail("Pontoons", said)
    message.add_alternative(f"<p>{said}</p><table><tr><td>Kestrel</td><td>812", subtype="html")
    return message


def _clearsigned() -> EmailMessage:
    return mail(
        "Signed in its text",
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nThe lockkeeper agrees.\n- -- Ann\n"
        "-----BEGIN PGP SIGNATURE-----\n\niQEzBAEBCAAdFiEE\n-----END PGP SIGNATURE-----\n",
    )


def _raw_eight_bit() -> bytes:
    head = b"From: a@b.example\nTo: c@d.example\nDate: 4 May 2026 10:00:00 +0200\n"
    subject = "Subject: Grüße aus der Küferei\n\n".encode()
    return head + subject + "Die Fässer für Österreich wären größtenteils fertig.".encode("cp1252")


def _mbox() -> bytes:
    message = mail("Ropes", "The ropewalk is let.")
    message.add_attachment("Hemp from Riga.\n", filename="hemp.txt")
    return b"From ann Mon May  4 10:00:00 2026\n" + message.as_bytes().replace(b"\r\n", b"\n")


def _mht() -> bytes:
    return (
        b"From: <Saved by Blink>\nSnapshot-Content-Location: https://x.example/p\n"
        b"Subject: Kilns\nDate: Mon, 4 May 2026 10:00:00 -0000\nMIME-Version: 1.0\n"
        b'Content-Type: multipart/related; type="text/html"; boundary="B"\n\n--B\n'
        b"Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n"
        b"Content-Location: https://x.example/p\n\n"
        b"<html><title>Kilns</title><body><h1>Kilns</h1><p>Fired with beech=\nwood.</p>\n--B--\n"
    )


def _zip() -> bytes:
    inner = mail("Leather", "Two hides.")
    inner.add_attachment("The cordwainer asks for calfskin.\n", filename="asks.txt")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("deep/mail.eml", inner.as_bytes())
        archive.writestr("notes.md", "# Notes\n\nThe sawmill runs by tide.\n")
        archive.writestr("__MACOSX/._notes.md", b"\0\1")
        archive.writestr("plan.dwg", b"\0\1\2")
    return packed.getvalue()


def _outlook(subject: str, body: dict[str, str | bytes], files: list[dict[str, object]]) -> bytes:
    tree = properties({"0037": subject, **body})
    for number, file in enumerate(files):
        tree[f"__attach_version1.0_#{number:08}"] = file
    return ole(tree)


def _outlook_files() -> dict[str, bytes]:
    """Mails as Outlook saves them: of HTML alone, with a mail, signed and encrypted."""
    inner = properties({"3001": "Of the inner yard"}, head=8)
    inner["__substg1.0_3701000D"] = properties(
        {"0037": "Of the inner yard", "1000": "The capstan sticks."}, head=24
    )
    listed = properties({"3707": "hulls.csv", "3701": b"hull;berth\nDunlin;7\n"}, head=8)

    def container(data: bytes) -> dict[str, object]:
        return properties({"3707": "smime.p7m", "3701": data}, head=8)

    plain = b"Content-Type: text/plain\r\n\r\n"
    return {
        "html.msg": _outlook("Of HTML", {"1013": b"<p>The <b>bulwark</b> is caulked.</p>"}, []),
        "outer.msg": _outlook("Of two", {"1000": "See below."}, [inner, listed]),
        "beside.msg": _outlook(
            "Signed beside", {}, [container(plain + b"The sounding was nine fathoms.")]
        ),
        "opaque.msg": _outlook(
            "Signed", {}, [container(signed_data(plain + b"The hawser is parted."))]
        ),
        "sealed.msg": _outlook("Sealed", {}, [container(enveloped_data())]),
    }


def _relayed() -> EmailMessage:
    """As gateways pass on what is signed: bytes of no kind, with the name of its kind."""
    message = mail("Relayed")
    inner = signed_data(b"Content-Type: text/plain\r\n\r\nThe kedge anchor holds.\r\n")
    message.set_content(inner, "application", "octet-stream", filename="smime.p7m")
    return message


def _half_locked() -> bytes:
    """An archive of which one file needs a password, and one is damaged."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("locked.md", "The cipher.")
        archive.writestr("damaged.md", "The bilge is dry.")
        archive.writestr("whole.md", "The binnacle is lit.")
        locked = archive.getinfo("locked.md")
    data = bytearray(packed.getvalue().replace(b"The bilge", b"The bulge"))
    central = data.index(b"PK\x01\x02")
    data[locked.header_offset + 6] |= 1
    data[central + 8] |= 1
    return bytes(data)


def _cut_off() -> bytes:
    """An archive without its end, in which lies a whole one."""
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("inner.md", "The thwart is oak.")
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("first.md", "The transom is elm.")
        archive.writestr("inner.zip", inner.getvalue())
    return outer.getvalue()[:-60]


@pytest.fixture(scope="module")
def report(module_url, tmp_path_factory):
    """Bring in a folder of mails; return what standard error says."""
    folder = tmp_path_factory.mktemp("mails")
    for case in ("07_mail", "13_outlook"):
        shutil.copytree(WILD / case, folder, dirs_exist_ok=True)
    files = {
        "files.eml": _with_files().as_bytes(),
        "plans.eml": _apple().as_bytes(),
        "minutes.eml": _outlook_to_others().as_bytes(),
        "torn.eml": _torn().as_bytes(),
        "signed.eml": _signed(),
        "uu.eml": _uuencoded(),
        "raw.eml": _raw_eight_bit(),
        "flowed.eml": b"\n\n" + _flowed(),
        "richer.eml": _richer().as_bytes(),
        "clearsigned.eml": _clearsigned().as_bytes(),
        "box.mbox": _mbox(),
        "page.mht": _mht(),
        "all.zip": _zip(),
        "relayed.eml": _relayed().as_bytes(),
        "half.zip": _half_locked(),
        "cut.zip": _cut_off(),
        **_outlook_files(),
        "audit.ics": _CALENDAR.encode(),
        "1777881600.M1P2.host:2,S": mail(
            "From a Maildir", "The tide tables are printed."
        ).as_bytes(),
    }
    body = mail("Of Apple", "Isinglass for the vintner.").as_bytes()
    files["1.emlx"] = b"%d\n" % len(body) + body + b"<?xml version='1.0'?><plist/>"
    for name, data in files.items():
        (folder / name).write_bytes(data)
    result = CliRunner().invoke(
        cli, ["--database-url", module_url, "ingest", str(folder), "-c", "m", "--no-embed"]
    )
    assert result.exit_code == 0, result.output
    return result.stderr


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("Thornquist", "apple.eml"),
        ("Vellamo catalogue", "placeholder.eml"),
        ("Penrhyndeu", "rtf_only.msg"),
        ("4711", "files.eml#prices.csv"),
        ("schist", "files.eml#Survey of the river.eml"),
        ("moorings", "files.eml#Survey of the river.eml#depth.txt"),
        ("quarterdays", "files.eml#terms.html"),
        ("Limousin", "plans.eml#staves.txt"),
        ("Sheffield", "plans.eml"),
        ("Michaelmas", "minutes.eml"),
        ("tallow", "minutes.eml#list.txt"),
        ("gunwale", "torn.eml"),
        ("oakum", "torn.eml#one.txt"),
        ("Hanse genuine", "signed.eml"),
        ("pewter", "uu.eml#tankards.txt"),
        ("größtenteils", "raw.eml"),
        ("Donaudampfschiff ebb", "flowed.eml"),
        ("harbour kestrel 812", "richer.eml"),
        ("lockkeeper", "clearsigned.eml"),
        ("ropewalk", "box.mbox#%"),
        ("hemp", "box.mbox#%#hemp.txt"),
        ("beechwood", "page.mht"),
        ("isinglass", "1.emlx"),
        ("tables printed", "1777881600.M1P2.host:2,S"),
        ("wheatmeal quayside", "audit.ics"),
        ("sawmill", "all.zip#notes.md"),
        ("calfskin", "all.zip#deep/mail.eml#asks.txt"),
        ("bulwark caulked", "html.msg"),
        ("capstan", "outer.msg#Of the inner yard.eml"),
        ("dunlin", "outer.msg#hulls.csv"),
        ("fathoms", "beside.msg"),
        ("hawser", "opaque.msg"),
        ("kedge", "relayed.eml"),
        ("binnacle", "half.zip#whole.md"),
        ("transom", "cut.zip#first.md"),
        ("thwart", "cut.zip#inner.zip#inner.md"),
    ],
)
def test_a_text_of_a_mail_is_found_where_it_is(report, module_connection, words, key):
    query = (
        "SELECT source_key FROM blend.lexical_search(%s, 5, '{m}', options => '{\"strict\": true}')"
        " WHERE source_key LIKE %s"
    )
    pattern = key if "%" in key else key.replace("_", r"\_")
    assert module_connection.execute(query, [words, pattern]).fetchall(), report


def test_signatures_are_no_text(report, module_connection):
    rows = module_connection.execute(
        "SELECT content FROM blend.chunks WHERE content ~ 'iQEz|SHA256'"
    )
    assert rows.fetchall() == [], report


def test_what_is_attached_is_tied_to_its_mail(report, module_connection):
    rows = module_connection.execute(
        "SELECT d.title, d.metadata->>'mail', d.metadata->>'from' FROM blend.documents AS d"
        " WHERE d.source_key LIKE 'files.eml#%' ORDER BY d.source_key"
    ).fetchall()
    about = ("Offer for the bridge", "Ann Berg <ann@kontor.example>")
    assert ("prices.csv", *about) in rows
    assert ("Terms", *about) in rows
    assert ("depth.txt", "Survey of the river", "Ann Berg <ann@kontor.example>") in rows
    edges = module_connection.execute(
        "SELECT t.source_key FROM pgblend_data.link AS l"
        " JOIN pgblend_data.document AS d ON d.id = l.document_id"
        " JOIN pgblend_data.document AS t ON t.id = l.target_document_id"
        " WHERE d.source_key = 'files.eml' AND l.edge_type = 'attachment' ORDER BY 1"
    ).fetchall()
    assert [key for (key,) in edges] == [
        "files.eml#Survey of the river.eml",
        "files.eml#prices.csv",
        "files.eml#terms.html",
    ]


def test_dates_are_those_of_the_mail(report, module_connection):
    (date,) = module_connection.execute(
        "SELECT metadata->>'date' FROM blend.documents WHERE source_key = 'sent_item.msg'"
    ).fetchone()
    assert date.startswith("2025-05-19T06:00:00")


def test_files_that_are_not_read_are_named(report):
    lines = [line for line in report.splitlines() if "left out: " in line]
    assert any("files.eml: drawing.dwg: " in line for line in lines), report
    assert any("all.zip: plan.dwg: " in line for line in lines), report
    assert any("sealed.msg: the body: it is encrypted: " in line for line in lines), report
    assert any("half.zip: locked.md: it needs a password: " in line for line in lines), report
    assert any("half.zip: damaged.md: it cannot be unpacked: " in line for line in lines), report
    assert any("cut.zip: the archive's end: " in line for line in lines), report
    assert any("torn.eml: winmail.dat: damaged: " in line for line in lines), report


def test_html_comes_out_of_its_rtf():
    rtf = (
        rb"{\rtf1\ansi\ansicpg1252\fromhtml1 \deff0{\fonttbl{\f0 Arial;}}"
        rb"{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Caf\'e9 \u8364 ? {\*\htmltag84 <b>}bold"
        rb"{\*\htmltag92 </b>}\htmlrtf\par}\htmlrtf0 {\*\htmltag72 </p>}}"
    )
    assert html_of_rtf(rtf) == "<p>Caf\xe9 \u20ac <b>bold</b></p>"
