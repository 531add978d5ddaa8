"""From bytes to text: byte order mark, UTF-8, what the file declares, then a guess."""

import codecs
import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from unicodedata import category

from pgblend.cli.documents.document import ParseError
from pgblend.cli.documents.language import MIN_LETTERS, language_shares

# Which old encoding bytes are in, by which of them makes text of a language that it is for.

_WESTERN = "en fr de es pt it nl sv da no fi is ca eu gl af id"
_CENTRAL = "pl cs sk hu sl hr bs sr ro sq"
_CYRILLIC = "ru uk bg sr mk be"
# Languages of each encoding, and how likely it is met where nothing else tells, over cp1252.
_ENCODINGS = (
    ("cp1252", _WESTERN, 1.0),
    ("cp1250", _CENTRAL, 0.8),
    ("cp1251", _CYRILLIC, 0.8),
    ("cp1253", "el", 0.8),
    ("cp1254", "tr az", 0.8),
    ("cp1255", "he yi", 0.8),
    ("cp1256", "ar fa ur", 0.8),
    ("cp1257", "lt lv et", 0.8),
    ("cp1258", "vi", 0.8),
    ("cp874", "th", 0.8),
    ("cp932", "ja", 0.8),
    ("gb18030", "zh", 0.8),
    ("big5hkscs", "zh", 0.8),
    ("cp949", "ko", 0.8),
    ("euc_jp", "ja", 0.7),
    ("iso8859-2", _CENTRAL, 0.7),
    ("iso8859-5", _CYRILLIC, 0.7),
    ("koi8-u", _CYRILLIC, 0.7),
    ("cp866", _CYRILLIC, 0.7),
    ("mac_roman", _WESTERN, 0.6),
    ("cp850", _WESTERN, 0.6),
)
_WINDOW_BYTES = 1 << 16
_SAMPLE = 600
_AROUND = re.compile(r"[^\n]{0,60}[^\x00-\x7f][^\n]{0,60}")
# What prose rarely has, though Unicode counts it as punctuation, and what else it has.
_RARE, _SIGNS = frozenset("†‡‰•¶"), frozenset("€°")
# Quotes stand at the edge of a word; what other encodings make of a letter stands within.
_QUOTE_WITHIN = re.compile(r"(?<=[^\W\d_])[\u201a\u201c-\u201e\u2026\u00ab\u00bb](?=[^\W\d_])")
# What Japanese codecs make of anything.
_HALFWIDTH = ("\uff61", "\uff9f")
_END_OF_LATIN = "\u0250"
# So many letters tell as much as the likelihood of encodings.
_WEIGHT_OF_PRIOR = 40
_LEAST_NATURAL = 0.15
_CLOSE = 0.85
_BOTH_MARKED = 0.3


@dataclass(frozen=True)
class EncodingGuess:
    """An encoding, and whether no other one makes text that is about as plausible."""

    encoding: str
    sure: bool


def guess_encoding(data: bytes) -> EncodingGuess | None:
    """Return the likeliest encoding of bytes that are not UTF-8; None where none makes text."""
    first = re.search(rb"[\x80-\xff]", data)
    start = data.rfind(b"\n", 0, first.start()) + 1 if first else 0
    start = max(start, first.start() - _SAMPLE if first else 0)
    return _guess(data[start : start + _WINDOW_BYTES])


@lru_cache(maxsize=16)
def _guess(window: bytes) -> EncodingGuess | None:
    """Guess by a part of the bytes; remembered, since a file's are decoded more than once."""
    best: dict[str, tuple[float, str]] = {}
    for encoding, sample, languages, prior in _samples(window):
        score = prior * _naturalness(sample) * _plausibility(sample, languages)
        if score > best.get(sample, (0.0, ""))[0]:
            best[sample] = (score, encoding)
    ranked = sorted(best.items(), key=lambda item: -item[1][0])
    if not ranked or _naturalness(ranked[0][0]) < _LEAST_NATURAL:
        return None
    sample, (score, encoding) = ranked[0]
    enough = sum(map(str.isalpha, sample)) >= MIN_LETTERS
    return EncodingGuess(
        encoding, enough and (len(ranked) == 1 or ranked[1][1][0] < _CLOSE * score)
    )


def _samples(window: bytes) -> Iterator[tuple[str, str, list[str], float]]:
    """Yield each encoding that the bytes can be in, with some text around what is not ASCII."""
    for encoding, languages, prior in _ENCODINGS:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(window)
        except UnicodeDecodeError:
            continue
        found = " ".join(match.group() for match in _AROUND.finditer(text))
        yield encoding, " ".join(found.split())[:_SAMPLE], languages.split(), prior


def _plausibility(sample: str, languages: list[str]) -> float:
    """Return how likely a text is in one of some languages, drawn to a half where it is short."""
    shares = language_shares(sample)
    share = max((shares.get(language, 0.0) for language in languages), default=0.0)
    letters = sum(map(str.isalpha, sample))
    return (letters * share + _WEIGHT_OF_PRIOR / 2) / (letters + _WEIGHT_OF_PRIOR)


def _naturalness(sample: str) -> float:
    """Return from 0 to 1 how far what is not ASCII looks like letters of words.

    Scripts do not mix within a word, a capital does not follow a small letter. Latin words have few
    letters with marks side by side.
    """
    others = [letter for letter in sample if letter > "\x7f"]
    if not others:
        return 0.0
    right = (sum(map(_belongs, others)) - len(_QUOTE_WITHIN.findall(sample))) / len(others)
    pairs = [
        pair
        for pair in pairwise(sample)
        if max(pair) > "\x7f" and pair[0].isalpha() and pair[1].isalpha()
    ]
    odd = sum(map(_oddity, pairs)) / max(len(pairs), 1)
    return float(right**3 * (1 - odd) ** 6)


def _belongs(letter: str) -> bool:
    if letter.isalpha():
        return not _HALFWIDTH[0] <= letter <= _HALFWIDTH[1]
    return letter in _SIGNS or (category(letter)[0] == "P" and letter not in _RARE)


def _oddity(pair: tuple[str, str]) -> float:
    first, second = pair
    if (first < _END_OF_LATIN) != (second < _END_OF_LATIN) or (
        first.islower() and second.isupper()
    ):
        return 1.0
    return _BOTH_MARKED if min(pair) > "\x7f" and max(pair) < _END_OF_LATIN else 0.0


# UTF-32 before UTF-16: the mark of the one begins with the mark of the other.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What browsers and mail programs take for some names: encodings that hold these and more.
_TAKEN_FOR = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
# Names that Python does not know.
_OTHER_NAMES = {
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "iso-8859-6-e": "iso8859-6",
    "dos-874": "cp874",
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-mac-roman": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "unicode-1-1-utf-8": "utf-8",
    "unicode-1-1-utf-7": "utf-7",
    "utf8mb4": "utf-8",
}
# Their bytes are those of plain letters, or have no look of their own.
_NOT_TOLD_BY_BYTES = ("iso2022", "hz", "utf-7", "utf-16", "utf-32")
# What switches between letters in Japanese and Korean mails, which have no byte beyond ASCII.
_SWITCHES = (
    (re.compile(rb"\x1b\$(?:[@B]|\(D)"), "iso2022_jp_ext"),
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
)
# Encodings in plain letters: of Chinese news (HZ), of mails before UTF-8 (UTF-7).
_HZ_RUN = re.compile(rb"~\{((?:[\x21-\x77][\x21-\x7e])+)~\}")
_UTF7_RUN = re.compile(rb"\+[A-Za-z0-9+/]*-?")
_LEAST_HZ_BYTES = 8
_LEAST_UTF7_RUNS = 3
_LEAST_PLAIN_NATURAL = 0.5
# Of so many letters beyond ASCII one may be broken.
_BROKEN_SHARE = 10
_HTML_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""\s*<\?xml[^>]+encoding\s*=\s*["']([\w.:-]+)""")
_META_BYTES = 4096
_UTF16_BYTES = 4096
_SLICE_BYTES = 1 << 20


class DoubtfulEncoding(UserWarning):
    """A text's encoding was guessed, and another one is as likely."""


def decode(data: bytes, *, html: bool = False, declared: str = "") -> str:
    """Decode a text file with line ends as \\n; refuse binary data and unknown encodings.

    `declared` names the encoding as a mail does; a page may name its own. A guess that is not sure
    is a warning, DoubtfulEncoding, and so are bytes that are broken.
    """
    encoding, errors = _encoding_of(data, html, declared)
    text = data.decode(encoding, errors)
    _refuse_nul(text, 0)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_lines(data: bytes) -> Iterator[str]:
    """Decode a text file as `decode` does, line by line, so that nobody holds its text."""
    encoding, errors = _encoding_of(data, html=False, declared="")
    place = 0
    for line in io.TextIOWrapper(io.BytesIO(data), encoding, errors):
        _refuse_nul(line, place)
        place += len(line)
        yield line


def _refuse_nul(text: str, place: int) -> None:
    position = text.find("\x00")
    if position >= 0:
        raise ParseError(
            f"NUL at character {place + position}: the file is not text, or its encoding was not "
            "recognised: save it as UTF-8"
        )


def is_binary(data: bytes) -> bool:
    """Guess from the first bytes whether a file is something else than text."""
    if unicode_encoding(data):
        return False
    control = sum(byte < 32 and byte not in b"\t\n\f\r\x1b" for byte in data)
    return control > 0 and (b"\x00" in data or control > len(data) // 100)


def _encoding_of(data: bytes, html: bool, declared: str) -> tuple[str, str]:
    """Return the encoding, and what becomes of bytes that it does not know."""
    encoding = unicode_encoding(data)
    if encoding:
        _check(data, encoding)
        return encoding, "strict"
    named = known_encoding(declared) or (_declared_encoding(data) if html else None)
    if named and named.startswith(_NOT_TOLD_BY_BYTES) and _reads(data, named):
        return named, "strict"
    if data.isascii() and (plain := _in_plain_letters(data)):
        return plain, "replace"
    if _reads(data, "utf-8"):
        return "utf-8", "strict"
    for encoding in filter(None, ("utf-8", named)):
        if _is_mostly(data, encoding):
            return encoding, "replace"
    guess = guess_encoding(data)
    if guess is None:
        raise ParseError("its encoding was not recognised: save it as UTF-8")
    if not guess.sure:
        message = f"its encoding is a guess, {guess.encoding}: save it as UTF-8 if words are wrong"
        warnings.warn(message, DoubtfulEncoding, stacklevel=2)
    return guess.encoding, "replace"


def _in_plain_letters(data: bytes) -> str | None:
    """Tell encodings whose bytes are those of plain letters: by their switches and runs."""
    switched = next((name for switch, name in _SWITCHES if switch.search(data)), None)
    if switched and _is_mostly(data, switched, share=1):
        return switched
    window = data[:_WINDOW_BYTES]
    if sum(map(len, _HZ_RUN.findall(window))) >= _LEAST_HZ_BYTES:
        found = "hz"
    elif len({run for run in _UTF7_RUN.findall(window) if len(run) > 2}) >= _LEAST_UTF7_RUNS:
        found = "utf-7"
    else:
        return None
    try:
        text = codecs.getincrementaldecoder(found)().decode(window)
    except UnicodeDecodeError:
        return None
    return found if _naturalness(text) >= _LEAST_PLAIN_NATURAL else None


def _is_mostly(data: bytes, encoding: str, share: int = _BROKEN_SHARE) -> bool:
    """Whether bytes are a text in an encoding but for a few; that some are broken is a warning."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    others = broken = 0
    for start in range(0, len(data), _SLICE_BYTES):
        end = start + _SLICE_BYTES
        text = decoder.decode(data[start:end], final=end >= len(data))
        broken += text.count("\ufffd")
        others += len(text) - len(text.encode("ascii", "ignore"))
    if broken * share > others:
        return False
    if broken:
        message = f"{broken:,} of its letters are no {encoding}, and read as \ufffd: save it anew"
        warnings.warn(message, DoubtfulEncoding, stacklevel=2)
    return True


def _reads(data: bytes, encoding: str) -> bool:
    try:
        _read_through(data, encoding)
    except UnicodeDecodeError:
        return False
    return True


def _read_through(data: bytes, encoding: str) -> None:
    """Decode slice by slice, so that no whole text is in memory."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for start in range(0, len(data), _SLICE_BYTES):
        decoder.decode(data[start : start + _SLICE_BYTES])
    decoder.decode(b"", final=True)


def unicode_encoding(data: bytes) -> str | None:
    """Tell the encoding by the byte order mark, or UTF-16 by NUL in every second byte."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    even, odd = data[:_UTF16_BYTES:2], data[1:_UTF16_BYTES:2]
    for nul, other, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if nul.count(0) > len(nul) // 2 and other.count(0) <= len(other) // 50:
            return encoding
    return None


def _check(data: bytes, encoding: str) -> None:
    """Refuse what is broken; the place is that of the whole, which a slice does not know."""
    try:
        _read_through(data, encoding)
    except UnicodeDecodeError:
        pass
    else:
        return
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ParseError(
            f"it begins as {encoding}, but is broken at byte {error.start}: save it as UTF-8"
        ) from None


def _declared_encoding(data: bytes) -> str | None:
    """Read the encoding out of a page's <meta>; None where there is none that Python knows."""
    head = data[:_META_BYTES]
    match = _HTML_CHARSET.search(head) or _XML_ENCODING.match(head)
    return known_encoding(match.group(1).decode("ascii", errors="ignore")) if match else None


def known_encoding(name: str) -> str | None:
    """Return Python's encoding of a name in a mail or a page; None where it has none."""
    name = name.strip(" \t\"'").lower()
    try:
        codec = codecs.lookup(_OTHER_NAMES.get(name, name))
    except (LookupError, ValueError):
        return None
    if not codec._is_text_encoding or codec.name == "ascii":
        return None
    return _TAKEN_FOR.get(codec.name, codec.name)
