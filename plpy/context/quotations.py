"""Quotations, addresses and code found in texts."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

from pgblend.plpy.context.written_forms import (
    IN_WORD,
    JOINT,
    MINUS,
    SOFT_HYPHEN,
    UNSPACED,
    read_forms,
    written_form,
)


def normalized_words(text: str) -> str:
    """Return the text in Unicode's form NFKC with every run of white space as one space.

    A space between two characters of Chinese, Japanese or Thai goes, and soft hyphens too. Letter
    case stays.
    """
    text = unicodedata.normalize("NFKC", SOFT_HYPHEN.sub("", text))
    return UNSPACED.sub("", " ".join(text.split()))


# What stands for words left out, also in brackets.
LEFT_OUT = re.compile(r"[\[(]?(?:…|\.{3,}|(?:\. ){2}\.)[\])]?")
# So many words stand on each side of it.
LEAST_AROUND = 2
# Right before or after a quotation these would tear a word or a figure.
TORN = rf"(?:{IN_WORD}|[{MINUS}.,:'])"
# From here on scripts write words without spaces.
FIRST_UNSPACED = "\u0e00"
SPACED_WORD = rf"(?:(?![{FIRST_UNSPACED}-\U0010ffff]){IN_WORD}|[{MINUS}.,:'])"


def find_quotation(quotation: str, text: str) -> tuple[int, int] | None:
    """Return the first and last line (from 0) of the text that have the quotation; None: nowhere.

    Both are compared as written_form writes them, in the same one of read_forms. The quotation must
    be of whole words and figures. Around an ellipsis at least two words each must stand there in
    this order. Addresses in it must stand in the text whole.
    """
    if any(not stands_whole(address, text) for address in addresses(quotation)):
        return None
    for form, sought in enumerate(_sought(quotation)):
        if sought and sought.search(_forms(text)[form]):
            return _lines_of(sought, text.split("\n"), form)
    return None


def _lines_of(sought: re.Pattern[str], lines: Sequence[str], form: int) -> tuple[int, int]:
    """Return the first and last of the lines that have what is sought, which is in them."""

    def has_it(begin: int, end: int) -> bool:
        told = list(read_forms("\n".join(lines[begin:end])))[form]
        return sought.search(written_form(told)) is not None

    every = range(len(lines) - 1)
    last = bisect_left(every, True, key=lambda line: has_it(0, line + 1))
    first = bisect_left(every, True, key=lambda line: not has_it(line + 1, last + 1))
    return min(first, last), last


@lru_cache(maxsize=64)  # an answer has many quotations of the same passages
def _forms(text: str) -> tuple[str, ...]:
    return tuple(written_form(form) for form in read_forms(text))


@lru_cache(maxsize=64)
def _sought(quotation: str) -> tuple[re.Pattern[str] | None, ...]:
    """Return what finds a quotation in each of a text's forms; None where it has no words."""
    return tuple(_pattern(form) for form in read_forms(quotation, is_quotation=True))


def _pattern(quotation: str) -> re.Pattern[str] | None:
    whole = written_form(quotation)
    if not whole:
        return None
    found = _words(whole)
    pieces = [piece for piece in map(written_form, LEFT_OUT.split(quotation)) if piece]
    if len(pieces) > 1 and all(len(WORD.findall(piece)) >= LEAST_AROUND for piece in pieces):
        found += "|" + ".*?".join(map(_words, pieces))
    return re.compile(found)


def _words(piece: str) -> str:
    """Return a pattern of whole words, in which joints and hyphens may be written or not."""
    pattern = []
    for character, after in zip(piece, piece[1:] + " ", strict=True):
        if character in (" ", JOINT):
            pattern.append(rf"[ {JOINT}]" + ("?" if character == JOINT else ""))
            continue
        pattern.append(re.escape(character))
        if after not in (" ", JOINT) and not (character.isdigit() and after.isdigit()):
            pattern.append(f"{JOINT}?")
    before = TORN if piece[0].isascii() else SPACED_WORD
    behind = TORN if piece[-1] < FIRST_UNSPACED else rf"(?:(?=[\x00-\x7f]){TORN})"
    return rf"(?<!{before}){''.join(pattern)}(?!{behind})"


# A scheme, an address of mail, a link's or picture's target, a host.
ADDRESS = re.compile(
    r"(?<![\w.-])[a-z][a-z0-9+.-]*://[^\s<>\"“”`|]+"
    r"|(?<![\w.-])(?:mailto|javascript|data|tel|file|vbscript):[^\s<>\"“”`|]+"
    r"|(?<![\w.-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<=\]\()\s*<?[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*"
    r"|(?<=\]:)\s*<?[^\s<>]+"
    r"|(?<![\w@.-])(?:href|src)\s*=\s*[\"']?[^\s<>\"']+"
    r"|(?<![\w@.-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?![\w-])"
    r"(?:[:/?#][^\s<>\"“”`|]*)?",
    re.IGNORECASE,
)
ATTRIBUTE = re.compile(r"(?:href|src)\s*=\s*[\"']?", re.IGNORECASE)


# Punctuation behind an address.
BEHIND = ".,;:!?…。'\u2019»”*_]}"


def addresses(text: str) -> list[str]:
    """Return the addresses of a text: of pages, pictures, mail, hosts and files."""
    found = []
    for match in ADDRESS.findall(text):
        address = ATTRIBUTE.sub("", match).strip().lstrip("<")
        while address and (address[-1] in BEHIND or _is_unopened(address)):
            address = address[:-1]
        if address:
            found.append(address)
    return found


def _is_unopened(address: str) -> bool:
    """Tell whether an address ends with a bracket that was opened before it."""
    return address.endswith(")") and address.count("(") < address.count(")")


# `code`, ``code``, and what stands behind a mark that nothing closes.
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?:(?<!`)\1(?!`)|$)")
PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc", "'"),
        **dict.fromkeys("“”„", '"'),
    }
)
# What a longer word, option, path or address would go on with.
GOES_ON = r"\w/\\@~+$%&-"


def code_spans(text: str) -> list[str]:
    """Return what stands between backticks."""
    return [match[2].strip() for match in CODE.finditer(text) if match[2].strip()]


def without_code(text: str) -> str:
    """Return a text without what stands between backticks."""
    return CODE.sub(" ", text)


def stands_whole(piece: str, text: str, *, is_code: bool = False) -> bool:
    """Tell whether an address or code stands in a text as it is, and is no part of a longer one.

    Case counts in code. White space, kinds of dashes and quotation marks do not.
    """
    sought, told = (normalized_words(each).translate(PLAIN) for each in (piece, text))
    if not is_code:
        sought, told = sought.casefold(), told.casefold()
    goes_on = rf"[{GOES_ON}]" if is_code else rf"[={GOES_ON}]"
    found = rf"(?<![{GOES_ON}])(?<!\w\.){re.escape(sought)}(?![.,:;?#]*{goes_on})"
    return re.search(found, told) is not None


SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。\uff01\uff1f])|\n\s*\n")
# Words, and single characters of scripts without word spaces.
LETTER_ALONE = r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
WORD = re.compile(rf"{LETTER_ALONE}|(?:(?!{LETTER_ALONE})\w)+")
LONGEST_QUOTATION = 300


def best_quotation(query: str, text: str) -> tuple[str, int, int] | None:
    """Return a sentence of the text, its first and last line (from 0); None for a blank text.

    It is the first of those with the most different words of the query, of which five letters
    count, in lower case. It has at most 300 characters and is cut between words.
    """
    asked = {word[:5] for word in WORD.findall(normalized_words(query).casefold())}
    best: tuple[int, int, int] | None = None
    start = 0
    for end, after in [
        *(match.span() for match in SENTENCE_BREAK.finditer(text)),
        (len(text),) * 2,
    ]:
        words = {word[:5] for word in WORD.findall(normalized_words(text[start:end]).casefold())}
        if words and (best is None or len(words & asked) > best[0]):
            best = len(words & asked), start, end
        start = after
    if best is None:
        return None
    _, start, end = best
    start += len(text[start:end]) - len(text[start:end].lstrip())
    if end - start > LONGEST_QUOTATION:
        cut = text.rfind(" ", start + 1, start + LONGEST_QUOTATION)
        end = cut if cut > start else start + LONGEST_QUOTATION
    quotation = text[start:end].rstrip()
    line = text.count("\n", 0, start)
    return quotation, line, line + quotation.count("\n")
