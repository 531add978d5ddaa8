"""Addresses, code and options of commands in a text, which must stand in a passage whole."""

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

from pgblend.plpy.answers.written_forms import (
    COMMENT,
    ESCAPED,
    LEFT_OUT,
    LETTER,
    SOFT_HYPHEN,
    TAG,
    normalized_words,
)

# What is no scheme before a colon: German words of all genders, Swedish and Finnish endings.
WITH_ENDING = re.compile(
    r"(?:[A-ZÄÖÜ][\w-]*:innen[\w-]*|(?:[A-ZÄÖÜ][\w-]*|\w*e|k?ein):(?:in|e|e?[nrms])"
    r"|[A-ZÄÖÅ]+:"
    r"(?:a|ä|n|s|t|e[nrt]|ss[aä]|st[aä]|ll[aäe]|lt[aä]|ksi|[nt][aä]|h[aeiuyä]n|ii?n|ia))"
)
# A character of a host's label; pictures are taken too.
OF_HOST = r"[\w\u2190-\u2bff\U0001f000-\U0001faff]"
# A scheme, an address of mail, a link's or picture's target, a file, an IPv6 address, a host.
ADDRESS = re.compile(
    r"(?<![\w.-])[a-z][a-z0-9+.-]{0,31}://[^\s<>\"“”`|]+"
    r"|(?P<scheme>(?<![\w.:-])[a-z][a-z0-9+.-]{1,31}:"
    r"[^\s<>\"“”`|:\u2e80-\U0010ffff][^\s<>\"“”`|]*)"
    r"|(?<![\w.-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*"
    r"|(?<=\]\()\s*<?[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*"
    r"|(?<=\]:)\s*<?[^\s<>]+"
    r"|(?<![\w@.-])(?:href|src)\s*=\s*[\"']?[^\s<>\"']+"
    r"|(?<![\w@.:/-])//[^\s<>\"'“”`|/][^\s<>\"'“”`|]*|(?<!\\)\\\\[\w.-]+\\[^\s<>\"“”`|]+"
    r"|(?<![\w.-])[a-z]:[\\/][^\s<>\"“”`|]+"
    r"|(?<![^\s(\[{\"'“\u2018«=,;|`>*_])[~.]{0,2}/(?=[.~-]*\w)[^\s<>\"“”`|]+"
    r"|(?<![\w:])(?=[\da-f]*:[\da-f:]*[a-f])(?=[\da-f:]*::)[\da-f:]+(?![\w:])"
    rf"|(?<![\w@.-])[@$~%+&]*(?:[\w.*${{}}-]{{1,64}}[/\\]){{0,16}}"
    rf"(?:{OF_HOST}(?:(?:{OF_HOST}|-)*{OF_HOST})?\.)+(?:xn--[a-z0-9-]+|[^\W\d_]{{2,}})"
    r"(?![^\W_]|-)(?:[\w-]*(?:\.[\w-]+)*)(?:[:/?#][^\s<>\"“”`|]*)?",
    re.IGNORECASE,
)
ATTRIBUTE = re.compile(r"(?:href|src)\s*=\s*[\"']?", re.IGNORECASE)


# Punctuation behind an address.
BEHIND = ".,;:!?…。'\u2019»”*_]}"


def addresses(text: str) -> list[str]:
    """Return the addresses of a text: of pages, pictures, mail, hosts and files."""
    found = []
    for match in ADDRESS.finditer(text):
        address = ATTRIBUTE.sub("", match.group()).strip().lstrip("<")
        while address and (address[-1] in BEHIND or _is_unopened(address)):
            address = address[:-1]
        is_word = match["scheme"] and (":" not in address or WITH_ENDING.fullmatch(address))
        if address and not is_word:
            found.append(address)
    return found


def _is_unopened(address: str) -> bool:
    """Tell whether an address ends with a bracket that was opened before it."""
    return address.endswith(")") and address.count("(") < address.count(")")


def has_addresses(text: str, passages: Sequence[str]) -> bool:
    """Tell whether each address of a text is in a passage whole, as it is written and as shown."""
    shown = [shown_characters(passage) for passage in passages]
    return all(
        any(stands_whole(address, passage) for passage in told)
        for said, told in ((text, passages), (shown_characters(text), shown))
        for address in addresses(said)
    )


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


HTML_CODE = re.compile(r"<(code|kbd|pre|samp|tt)\b[^<>]*>(.+?)(?:</\1\s*>|$)", re.I | re.DOTALL)


def code_spans(text: str) -> list[str]:
    """Return what stands between backticks or in HTML's elements of code."""
    found = [match[2].strip() for form in (CODE, HTML_CODE) for match in form.finditer(text)]
    return [span for span in found if span]


# Options of commands, with the places or variables that they are given: -rf /.
OPTION = re.compile(
    r"(?:(?<=[\s(\"'“\u2018*_])|^)(?:--[a-z][\w-]*|-[a-z]{1,3})(?![\w-])(?:\s+[/~*$]\S*)?",
    re.IGNORECASE,
)


def options(text: str) -> list[str]:
    """Return the options of commands that a text names outside of marks of code."""
    return [found.rstrip(BEHIND) for found in OPTION.findall(without_code(text))]


# What Markdown makes bold, or strikes through.
EMPHASIS = re.compile(r"[*~`]+|(?<!\w)_+|_+(?!\w)")
# Dots of hosts and signs of mailboxes, as people disarm them; and dots as browsers take them.
DOT, AT = (
    re.compile(rf"(?i)(?<=\w) ?(?:\[(?:{it})\]|\((?:{it})\)|\{{(?:{it})\}}) ?(?=\w)")
    for it in (r"\.|dot", "@|at")
)
WIDE_DOT = re.compile(r"(?<=[A-Za-z0-9])。(?=[A-Za-z0-9])")


@lru_cache(maxsize=64)
def shown_characters(text: str) -> str:
    """Return a text as it is seen, with plain addresses in it.

    Emphasis, escapes, comments, tags and invisible characters are gone; references of HTML and
    percent-encodings are resolved. Disarmed and wide dots are dots: evil[.]example.
    """
    shown = EMPHASIS.sub("", ESCAPED.sub("", TAG.sub("", COMMENT.sub("", text))))
    shown = LEFT_OUT.sub("", SOFT_HYPHEN.sub("", unquote(html.unescape(shown))))
    shown = AT.sub("@", DOT.sub(".", unicodedata.normalize("NFKC", shown)))
    return WIDE_DOT.sub(".", shown)


def without_code(text: str) -> str:
    """Return a text without what stands between backticks."""
    return CODE.sub(" ", text)


def stands_whole(piece: str, text: str, *, is_code: bool = False) -> bool:
    """Tell whether an address or code stands in a text as it is, and is no part of a longer one.

    Case counts in code. White space, kinds of dashes and quotation marks do not, nor does a slash
    at the end of a word or an address.
    """
    sought, told = (normalized_words(each).translate(PLAIN) for each in (piece, text))
    if not is_code:
        sought, told = sought.casefold(), told.casefold()
    last = ""
    if " " not in sought:
        # The same place with a slash at its end, and without.
        sought, last = re.sub(r"(?<=\w)/$", "", sought), "/?"
    goes_on = rf"[{GOES_ON}]" if is_code else rf"[={GOES_ON}]"
    behind = rf"(?!{goes_on}|[.,:;?#]+(?!{LETTER}){goes_on})"
    found = rf"(?<![{GOES_ON}])(?<!\w\.){re.escape(sought)}{last}{behind}"
    return re.search(found, told) is not None
