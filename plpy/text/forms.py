"""One form of a text for its words: of Unicode, of capitals, and the parts of names.

The stored text stays as it is. What the parser gets of chunks and queries is made of this form.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from pgblend.plpy.text.numbers import GROUP_BLANK, WITH_UNIT, with_one_form

# What Unicode calls default ignorable: soft hyphens, joiners, marks of direction, variants.
IGNORABLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# A terminal's commands: colours, titles of windows, links.
COMMAND = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
LONE_RETURN = r"\r(?!\n)"
# What a printer strikes over, as in manual pages, and what parts fields, lines and pages.
STRUCK = r"[^\n\x08]\x08"
APART_BY = dict.fromkeys("\x0b\x0c\x85", "\n") | dict.fromkeys("\x1c\x1d\x1e\x1f", " ")
JSON_TEXT = r'"(?:[^"\\]|\\.)*"'
# Raised figures are no part of a longer word or of a number, which are found without them.
# Signs that stand for words, as ™ does, are words of their own.
_RAISED, _PART = r"\u00b2\u00b3\u00b9\u2070-\u207f", r"\u00bc-\u00be\u2150-\u215e"
_SIGN = (
    r"\u2100\u2101\u2105\u2106\u2116\u2120-\u2122\u2460-\u24ff\u3200-\u32ff\U0001f100-\U0001f2ff"
)
APART = (
    rf"[{_RAISED}{_PART}{_SIGN}](?:(?:(?<=[^\W\d_]{{4}}[{_RAISED}])|(?<=\d[{_RAISED}]))[{_RAISED}]*"
    rf"|(?<=\d[{_PART}])|(?<=[{_SIGN}]))"
)
LAST_SIGMA = r"[\u03a3\u03c3](?<=\w.)(?!\w)"
# Within a name or where no space follows a sentence, but not in 3.14, e.g. and U.S.A.
INNER_DOT = r"\.(?<=\w\.)(?=\w)(?!(?<=\d\.)\d)(?!(?<=\b\w\.)\w\b)"
SMALL, CAPITAL = "[a-zß-öø-ÿα-ώа-џ]", "[A-ZÀ-ÖØ-Þ\u0130Α-ΫЀ-Я]"  # noqa: RUF001
# Where the case changes within a word: parse|HTML|Response, utf8|Decode, but not PhD and URLs.
CUT = (
    rf"{CAPITAL}(?:(?<={SMALL}.)(?=[^\W_])|(?<=[0-9].)(?={SMALL})|(?<={CAPITAL}.)(?={SMALL}{{2}}))"
)
INNER = r"[^\W_]*"
LONGEST = 100
# What bytes of ASCII are to a form: letters a or A, digits 0, controls zero.
_KINDS = bytes(
    ord(kind)
    for kind in (
        "".join("\0" if one not in (9, 10) else " " for one in range(32))
        + " " * 7
        + "'"
        + " " * 4
        + ",-. "
        + "0" * 10
        + " " * 7
        + "A" * 26
        + " " * 4
        + "0 "
        + "a" * 26
        + " " * 4
        + "\0"
        + " " * 128
    )
)
# How a number with a unit may begin.
_NUMBERS = (b"0a", b"0A", b"0 a", b"0 A")
ASCII = bytes(range(128))


@lru_cache(maxsize=100)
def is_dotless(config: str) -> bool:
    """Tell by its name whether a text search configuration's language has a dotless i."""
    return re.search(r"(?:^|[._])(?:turk|azer|tr_|az_)", config) is not None


def uncontrolled(text: str) -> str:
    """Return a text without commands of terminals and control characters.

    Blanks, tabs and ends of lines stay; what a printer strikes over goes with its backspace.
    """
    if text.isascii() and b"\0" not in text.encode().translate(_KINDS):
        return text
    if "\r" in text:
        text = re.sub(LONE_RETURN, "\n", text)
    if not re.search(CONTROL, text):
        return text
    text = re.sub(STRUCK, "", re.sub(COMMAND, "", text))
    return re.sub(CONTROL, lambda found: APART_BY.get(found[0], ""), text)


def uncontrolled_json(written: str) -> str:
    """Return JSON whose keys and texts are without controls; numbers stay as they are written."""

    def cleaned(found: re.Match[str]) -> str:
        return json.dumps(uncontrolled(json.loads(found[0])), ensure_ascii=False)

    return re.sub(JSON_TEXT, cleaned, written)


def as_dashes(text: str) -> str:
    """Return a text, as long, with hyphens and minus signs as typewriters have them."""
    return text.replace("\u2010", "-").replace("\u2212", "-")


def beyond_ascii(text: str) -> str:
    """Return the characters of a text that are not ASCII: few in most, and so soon looked at."""
    return text.encode(errors="surrogatepass").translate(None, ASCII).decode(errors="surrogatepass")


def is_own_form(text: str, config: str = "") -> bool:
    """Tell at a glance of a text of ASCII that it is its own form, as most are."""
    if not text.isascii():
        return False
    kinds = text.encode().translate(_KINDS)
    if b"." in kinds and (b".a" in kinds or b".A" in kinds or b".0" in kinds):
        return False
    if b"aA" in kinds or b"0Aa" in kinds or b"AAaa" in kinds or b"\0" in kinds:
        return False
    if b"0,0" in kinds or b"0'0" in kinds or ("I" in text and is_dotless(config)):
        return False
    return not (any(one in kinds for one in _NUMBERS) and re.search(WITH_UNIT, text))


def unicode_form(text: str) -> str:
    """Return a text in compatibility form (NFKC), without controls and what is ignorable."""
    text = uncontrolled(text)
    if text.isascii():
        return text
    if re.search(IGNORABLE, beyond_ascii(text)):
        text = re.sub(IGNORABLE, "", text)
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", re.sub(APART, r" \g<0> ", text))
    return as_dashes(text)


def small_form(text: str, config: str = "") -> str:
    """Return a text, as long, with small letters where a parser takes others for the capitals."""
    if is_dotless(config):
        text = text.replace("I", "\u0131")
    if text.isascii():
        return text
    text = text.replace("\u0130", "i")
    if "\u03a3" in text or "\u03c3" in text:
        text = re.sub(LAST_SIGMA, "\u03c2", text)
    return text


def word_form(text: str, config: str = "") -> str:
    """Return a text as its words are indexed under a text search configuration."""
    if is_own_form(text, config):
        return text
    if not text.isascii():
        text = re.sub(GROUP_BLANK, "", text)
    text = with_one_form(re.sub(INNER_DOT, " ", unicode_form(text)), config)
    parts: list[str] = []
    last = 0
    for _, end, found in humps(text):
        parts += text[last:end], *(f" {text[one:other]}" for one, other in found)
        last = end
    return small_form("".join([*parts, text[last:]]) if parts else text, config)


def humps(text: str) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Give each word whose case changes: where it begins and ends, and so its parts.

    Parts have at least two letters: JavaScript has two, iPhone one.
    """
    last = 0
    for cut in re.finditer(CUT, text):
        if cut.start() < last:
            continue
        begin = cut.start()
        while begin > last and text[begin - 1].isalnum():
            begin -= 1
        match = re.compile(INNER).match(text, cut.start())
        last = end = match.end() if match else cut.end()
        if end - begin > LONGEST:
            continue
        cuts = (one.start() for one in re.compile(CUT).finditer(text, begin + 1, end))
        parts = pairwise([begin, *cuts, end])
        yield begin, end, [(one, other) for one, other in parts if other - one > 1]
