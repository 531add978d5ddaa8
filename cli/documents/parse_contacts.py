"""vCard: people and companies with their addresses, each under a name (.vcf)."""

import quopri
import re
from collections.abc import Iterator

from pgblend.cli.documents.decode import decode, known_encoding
from pgblend.cli.documents.document import (
    FILE_WITHIN,
    SAVE_IT,
    Document,
    ParseError,
    storable_text,
)
from pgblend.cli.documents.text_builder import TextBuilder

# What a person reads of a card, and what is written before it.
_FIELDS = {
    "N": "",
    "NICKNAME": "Nickname",
    "ORG": "Company",
    "TITLE": "Position",
    "ROLE": "Role",
    "EMAIL": "Mail",
    "TEL": "Telephone",
    "IMPP": "Messages",
    "ADR": "Address",
    "LABEL": "Address",
    "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary",
    "URL": "See",
    "X-SOCIALPROFILE": "Profile",
    "X-SKYPE": "Skype",
    "X-JABBER": "Jabber",
    "X-SPOUSE": "Spouse",
    "X-MANAGER": "Manager",
    "X-ASSISTANT": "Assistant",
    "X-ANNIVERSARY": "Anniversary",
    "RELATED": "Related",
    "CATEGORIES": "Categories",
    "NOTE": "Note",
}
_BYTES = {"PHOTO": "a photo", "LOGO": "a logo", "SOUND": "a sound", "KEY": "a key"}
_LINE = re.compile(r"(?:[\w-]+\.)?([\w-]+)((?:;(?:\"[^\"]*\"|[^\":;])*)*):(.*)", re.DOTALL)
_QUOTED_PRINTABLE = re.compile(r"quoted-printable", re.IGNORECASE)
_CHARSET = re.compile(r"charset=\"?([\w-]+)", re.IGNORECASE)
_PARTS = re.compile(r"(?<!\\);")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_contacts(data: bytes) -> Document:
    """Read the cards of a file; what they hold as bytes is told."""
    builder = TextBuilder()
    count = 0
    for card in _cards(decode(data)):
        count += 1
        found = [(name, text) for name, text in card if text]
        names = {name: text for name, text in reversed(found)}
        title = names.get("FN") or names.get("N") or names.get("ORG") or "No name"
        builder.add_heading(title, 1)
        shown = (
            f"{_FIELDS[name]}: {text}" if _FIELDS[name] else text
            for name, text in found
            if name in _FIELDS and text != title
        )
        builder.add("\n".join(dict.fromkeys(shown)))
        for name, text in found:
            if name in _BYTES and not text.startswith(("http:", "https:")):
                builder.leave_out(f"{_BYTES[name]} of {title}", FILE_WITHIN, SAVE_IT)
    if not count:
        raise ParseError("no readable contacts: no line is BEGIN:VCARD")
    return Document(
        title=builder.headings[0].text if count == 1 else "",
        text=builder.text(),
        metadata={"entries": count},
        headings=tuple(builder.headings),
        left_out=tuple(dict.fromkeys(builder.left_out)),
    )


def _cards(source: str) -> Iterator[list[tuple[str, str]]]:
    """Yield names and values of each card, in capitals and as they are read."""
    card: list[tuple[str, str]] | None = None
    for line in _unfolded(source):
        match = _LINE.fullmatch(line)
        if not match:
            continue
        name, about, value = match[1].upper(), match[2], match[3]
        if name == "BEGIN" and value.strip().upper() == "VCARD":
            card = []
        elif name == "END" and card is not None:
            yield card
            card = None
        elif card is not None:
            card.append((name, _plain(name, about, value)))
    if card:
        yield card


def _unfolded(source: str) -> Iterator[str]:
    """Yield whole lines; a folded one goes on after a space, one in quoted-printable after "="."""
    held = ""
    for line in source.split("\n"):
        is_soft = held.endswith("=") and _QUOTED_PRINTABLE.search(held.partition(":")[0])
        if held and is_soft:
            held = held[:-1] + line
        elif held and line[:1] in (" ", "\t"):
            held += line[1:]
        else:
            if held:
                yield held
            held = line
    if held:
        yield held


def _plain(name: str, about: str, value: str) -> str:
    if _QUOTED_PRINTABLE.search(about):
        charset = _CHARSET.search(about)
        encoding = known_encoding(charset[1] if charset else "") or "utf-8"
        value = quopri.decodestring(value.encode()).decode(encoding, "replace")
    if name in _BYTES:
        return value.strip()
    parts = _PARTS.split(value)
    if name == "N":  # family name first, as no one reads it
        parts = [*parts[3:4], *parts[1:3], *parts[:1], *parts[4:]]
    text = (" " if name == "N" else ", ").join(filter(None, map(str.strip, parts)))
    return storable_text(_ESCAPED.sub(lambda each: "\n" if each[1] in "nN" else each[1], text))
