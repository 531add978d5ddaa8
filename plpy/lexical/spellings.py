"""Names that people write joined or parted: h264 and H.264, covid19 and COVID-19, ipv6 and IP v6.

Only the query is spelt anew, so that the index has no more words and passages are no longer.
"""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

from pgblend.plpy.lexical.forms import small, unicode_form

_LETTER = r"[^\W\d_\u0e00-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\uff9f\U00020000-\U0003ffff]"
_ALNUM = rf"(?:{_LETTER}|[0-9])"
_SIGNS = r"\-._/"
_ALONE = rf"(?<![\w{_SIGNS}:@+#&]){{}}(?![\w+#&]|[{_SIGNS}:@]\w)"
_JOINED = _ALONE.format(rf"(?=[0-9]*{_LETTER})(?={_LETTER}*[0-9]){_ALNUM}{{2,20}}")
_PARTED = _ALONE.format(
    rf"(?:{_ALNUM}+(?:[{_SIGNS}]{_ALNUM}+){{1,3}}(?: [0-9]+)?|{_LETTER}+ [vV]?[0-9]+)"
)
_UNKNOWN = _ALONE.format(rf"(?:{_LETTER}{{5,20}}|{_LETTER}{{4,12}}[0-9]+)")
_KIND_OF = _ALONE.format(rf"{_LETTER}{{3,12}} {_LETTER}[0-9]+")
_ACRONYM = _ALONE.format("(?:[A-Z]{2,6}|(?:[A-Z][a-z]?){2,3})")
_DOTTED_ACRONYM = r"(?<![\w.])(?!U\.S\b(?!\.\w))(?:[A-Z][a-z]?\.){1,5}[A-Z]\b"
_LONE_LETTER = rf"(?<!{_LETTER}){_LETTER}(?!{_LETTER})"
# node.js, but not U.S.
_IS_NAME = r"[0-9]|\w\w\.\w\w"
# 2.10 is not 210, nor 2019-2020 a number.
_OF_NUMBERS = rf"[0-9][{_SIGNS} ][0-9]"
MOST_CUTS, MOST = 4, 32


def other_spellings(text: str) -> list[tuple[str, str]]:
    """Return names of a text and how each is spelt as well; "=" begins an identifier.

    h264 is the identifiers h-264, h.264 and h_264 and the words h 264, and each of these is h264.
    USA is U.S.A., UK U.K. and PhD Ph.D., but U.S. is not the word us. Words with a hyphen alone
    (non-linear) are no names: joined they cost judged sets.
    """
    if not re.search(r"[0-9]|\w\.\w|[A-Z]{2}|[a-z][A-Z]", text):
        return []
    text = unicode_form(text)
    found = [(name, other) for name in re.findall(_JOINED, text) for other in _parted(name)]
    for name in re.findall(_PARTED, text):
        if re.search(_IS_NAME, name) and not re.search(_OF_NUMBERS, name):
            joined = re.sub(rf"[{_SIGNS} ]", "", name)
            found.append((name, joined if joined.isupper() else joined.lower()))  # without humps
    for name in re.findall(_ACRONYM, text):
        dotted_name = re.sub("(?<=.)(?=[A-Z])", ".", name)
        found.append((name, f"{dotted_name}." if name.isupper() else f"={small(dotted_name)}"))
    found += ((name, name.replace(".", "")) for name in re.findall(_DOTTED_ACRONYM, text))
    return list(dict.fromkeys(found))[:MOST]


def _parted(name: str) -> Iterator[str]:
    """Give the ways in which a joined name is parted."""
    cuts = [one.start() for one in re.finditer(r"(?<=\D)(?=\d)|(?<=\d)(?=\D)", name)]
    if len(cuts) > MOST_CUTS:
        return
    places = [[cut] for cut in cuts] + ([cuts] if len(cuts) == 2 else [])
    if version := re.fullmatch(r"[^\W\d_]{2,}([vV])[0-9]+", name):
        places.append([version.start(1)])
    for at in places:
        parts = [name[one:other] for one, other in pairwise([0, *at, len(name)])]
        for sign in "-._":
            yield f"={small(sign.join(parts))}"
        yield " ".join(parts)


def rare_spellings(text: str, unknown: Collection[str]) -> list[tuple[str, str]]:
    """Return further spellings of names that no passage has: node.js for nodejs, Wi Fi 6 for wifi6.

    They are too many to be asked for in every search, or of words without unknown lexemes.
    """
    found = []
    beginnings = {lexeme[:3] for lexeme in unknown}
    for name in re.findall(_UNKNOWN, unicode_form(text)):
        if small(name)[:3] not in beginnings:
            continue
        word = name.rstrip("0123456789")
        for cut in range(2, len(word) - (word == name)):
            head, tail = word[:cut], name[cut:]
            if word != name:
                found.append((name, f"{head} {word[cut:]} {name[len(word) :]}"))
                found.append((name, f"{head} {tail}"))
            else:
                found += ((name, f"={one}") for one in dotted(head, tail))
    for name in re.findall(_KIND_OF, unicode_form(text)):
        head, tail = name.split(" ")
        if small(tail)[:3] in beginnings:
            found.append((name, small(head + tail)))
    return found[: 4 * MOST]


def dotted_names(text: str) -> list[str]:
    """Return the dotted names that a text may be if it is one word: node.js for nodejs."""
    if not re.fullmatch(rf"{_LETTER}{{5,20}}", text):
        return []
    return [one for cut in range(2, len(text) - 1) for one in dotted(text[:cut], text[cut:])]


def dotted(head: str, tail: str) -> list[str]:
    """Return a name of two parts as it is spelt in code."""
    return [f"{small(head)}{sign}{small(tail)}" for sign in "._"]


def is_letter_name(text: str) -> bool:
    """Tell whether a text is one joined name that has a letter between others: e5, r2d2."""
    return bool(re.fullmatch(_JOINED, text) and re.search(_LONE_LETTER, text))


def is_numbered_letter(text: str) -> bool:
    """Tell whether a text is a letter and a number that is no everyday one: A 380."""
    return bool(re.fullmatch(rf"{_LETTER} [0-9]{{3,}}", text))


def spelt_anew(text: str) -> list[str]:
    """Return a text with one of its names each time as it is spelt as well, in words."""
    text = unicode_form(text)
    return [
        re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", other, text)
        for name, other in other_spellings(text)
        if other[0] != "="
    ]
