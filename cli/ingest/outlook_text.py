"""Outlook's body as RTF: compressed, and often HTML or plain text in its clothes ([MS-OXRTFEX])."""

import re
from dataclasses import dataclass, replace

import compressed_rtf
from striprtf.striprtf import rtf_to_text

from pgblend.cli.ingest.document import ParseError

_HEAD = 1000
_TOKEN = re.compile(
    rb"\\'([0-9a-fA-F]{2})|\\([a-zA-Z]+)(-?\d+)? ?|\\([^a-zA-Z])|([{}])|([^\\{}\r\n]+)|[\r\n]+"
)
_CODE_PAGE = re.compile(rb"\\ansicpg(\d+)")
_LETTERS = {b"par": "\n", b"line": "\n", b"tab": "\t", b"lquote": "\u2018", b"rquote": "\u2019"}
_LETTERS |= {b"ldblquote": "\u201c", b"rdblquote": "\u201d", b"bullet": "\u2022"}
_LETTERS |= {b"endash": "\u2013", b"emdash": "\u2014"}
_ESCAPED = {b"~": "\u00a0", b"_": "\u00ad"}
_IGNORED = frozenset((b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pntext", b"pict"))


def rtf_body(data: bytes) -> tuple[str, str]:
    """Return the text of a compressed RTF body and its kind: text/html or text/plain."""
    try:
        rtf: bytes = compressed_rtf.decompress(data)
    except Exception as error:  # the library raises bare ones
        raise ParseError(f"its compressed RTF is damaged: {error}") from None
    if b"\\fromhtml" in rtf[:_HEAD]:
        return html_of_rtf(rtf), "text/html"
    return str(rtf_to_text(rtf.decode("latin-1"), errors="replace")), "text/plain"


def html_of_rtf(rtf: bytes) -> str:
    r"""Take HTML out of its RTF: tags are in {\*\htmltag}, what is for RTF alone in \htmlrtf."""
    reader = _HtmlReader(rtf)
    for match in _TOKEN.finditer(rtf):
        reader.take(match)
    return reader.html()


@dataclass(frozen=True)
class _Group:
    """A group's state: whether it is left out, a tag, how many letters stand for another."""

    left_out: bool = False
    is_tag: bool = False
    stand_in: int = 1


class _HtmlReader:
    """Takes the tokens of an RTF one after another."""

    def __init__(self, rtf: bytes) -> None:
        page = _CODE_PAGE.search(rtf[:_HEAD])
        self._encoding = _known_encoding(f"cp{page.group(1).decode()}" if page else "cp1252")
        self._out: list[str] = []
        self._bytes = bytearray()
        self._groups: list[_Group] = []
        self._group = _Group()
        self._is_for_rtf = False
        self._is_destination = False
        self._skip = 0

    def take(self, match: re.Match[bytes]) -> None:
        """Take a token."""
        code, word, number, escaped, brace, text = match.groups()
        if brace == b"{":
            self._groups.append(self._group)
            self._is_destination = False
        elif brace == b"}":
            self._group = self._groups.pop() if self._groups else _Group()
        elif escaped == b"*":
            self._is_destination = True
        elif word is not None:
            self._take_word(word, number)
        elif self._is_shown():
            self._take_letters(code, escaped, text)

    def html(self) -> str:
        """Return what was taken; halves of a letter beyond 16 bits come together."""
        self._flush()
        joined = "".join(self._out)
        return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _is_shown(self) -> bool:
        return not self._group.left_out and (self._group.is_tag or not self._is_for_rtf)

    def _take_word(self, word: bytes, number: bytes | None) -> None:
        if word == b"htmltag":
            self._group = replace(self._group, is_tag=True)
        elif word == b"htmlrtf":
            self._is_for_rtf = number != b"0"
        elif self._is_destination or word in _IGNORED:
            self._group = replace(self._group, left_out=True)
        elif word == b"uc":
            self._group = replace(self._group, stand_in=int(number or 1))
        elif self._is_shown():
            if word == b"u" and number:
                self._add(chr(int(number) % 0x10000))
                self._skip = self._group.stand_in
            elif word in _LETTERS:
                self._add(_LETTERS[word])
        self._is_destination = False

    def _take_letters(self, code: bytes | None, escaped: bytes | None, text: bytes | None) -> None:
        if code is not None:
            if not self._skip:
                self._bytes += bytes.fromhex(code.decode())
            self._skip = max(self._skip - 1, 0)
        elif escaped is not None:
            self._add(_ESCAPED.get(escaped, escaped.decode("latin-1")))
        elif text is not None:
            self._bytes += text[self._skip :]
            self._skip = max(self._skip - len(text), 0)

    def _add(self, text: str) -> None:
        self._flush()
        self._out.append(text)

    def _flush(self) -> None:
        """Decode together what came byte by byte: letters of two bytes."""
        self._out.append(self._bytes.decode(self._encoding, errors="replace"))
        self._bytes.clear()


def _known_encoding(name: str) -> str:
    try:
        b"".decode(name)
    except LookupError:
        return "cp1252"
    return name
