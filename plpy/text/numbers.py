"""Numbers and units that people write in several ways, in one form.

1,250 is 1250 and, in languages with a decimal comma, 1.250 too, and 3,5 is 3.5. 10GB and 10 GB are
10, GB and 10GB.
"""

# ruff: noqa: RUF001 - signs that look like others are what this is about

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

Spelling = tuple[int, int, str, list[int]]
"""Where it begins and ends, its form, and where each character of that stands."""

# Languages that write 3,5; those that put spaces between groups of three digits.
_COMMA = (
    "arme|azer|bas|bulg|catal|croat|czech|dan|dutch|eston|finn|fren|german|greek|hungar|icel"
    "|indon|ital|latv|lithu|norw|polish|portug|roman|russ|serb|slov|span|swed|turk|ukrain"
)
_SPACED = "bulg|czech|eston|finn|fren|hungar|latv|lithu|norw|polish|portug|russ|slov|span|swed|ukr"
# Blanks that part no words: between groups of digits they go, whatever the language.
GROUP_BLANK = r"[\u00a0\u2007\u2009\u202f](?<=\d.)(?=\d{3}(?!\d))"
_UNIT = (
    r"[kKMGTP]?i?[bB](?:it)?(?:/s|ps)?|kbit|Mbit|Gbit|[kcdmµμn]?m|k?g|mg|µg|μg|[mcd]?l|[mMkG]?[WVA]"
    r"|[mMkG]?Wh|mAh|[kMGT]?Hz|m?s|min|h|km/h|mph|rpm|fps|dpi|px|pt|em|rem|ft|lbs?|oz|mi|[hkM]?Pa|bar"
    r"|psi|dB|k?cal|k?J|N|Nm|mol|ha|PS|hp|EUR|USD|CHF|GBP"
)
WITH_UNIT = rf"([0-9](?<![\w.,].)[0-9]*(?:\.[0-9]+)?) ?((?:{_UNIT})(?!\w)|(?i:[kmgtp]i?b)(?!\w))"


@lru_cache(maxsize=100)
def _groups(config: str) -> tuple[str, bool]:
    """Return the pattern of numbers with groups in a configuration, and whether commas part it."""
    language = re.sub(r"^.*\.", "", config)
    if not re.match(_COMMA, language):
        return r"[0-9](?<![\w.,'’].)\d{0,2}(?:(?:,\d{3})+|(?:['’]\d{3})+)(?!\d|[,'’]\d)", False
    spaced = r"|(?: \d{3})+" if re.match(_SPACED, language) else ""
    whole = rf"\d{{0,2}}(?:(?:\.\d{{3}})+|(?:['’]\d{{3}})+{spaced})"
    return rf"[0-9](?<![\w.,'’].)(?:{whole}(?:,\d+)?|\d*,\d+)(?!\d|[.,'’]\d)", True


def with_one_form(text: str, config: str) -> str:
    """Return a text with its numbers and units in one form."""
    text = _respelt(text, grouped(text, config))
    return _respelt(text, with_units(text))


def _respelt(text: str, spellings: Iterable[Spelling]) -> str:
    """Return a text with spellings, which are in order, in their form."""
    parts: list[str] = []
    last = 0
    for begin, end, new, _ in spellings:
        parts += text[last:begin], new
        last = end
    return "".join([*parts, text[last:]]) if parts else text


def grouped(text: str, config: str) -> Iterator[Spelling]:
    """Give the numbers with groups of digits or a decimal comma: digits, and a point for that."""
    pattern, has_comma = _groups(config)
    for match in re.finditer(pattern, text):
        begin = match.start()
        kept = [
            (begin + place, "." if one == "," else one)
            for place, one in enumerate(match[0])
            if one.isdigit() or (has_comma and one == ",")
        ]
        yield begin, match.end(), "".join(one for _, one in kept), [place for place, _ in kept]


def with_units(text: str) -> Iterator[Spelling]:
    """Give numbers with a unit: both, and then the whole as one word."""
    for match in re.finditer(WITH_UNIT, text):
        (begin, middle), (start, end) = match.span(1), match.span(2)
        places = [*range(begin, middle), start, *range(start, end), begin]
        places += [*range(begin, middle), *range(start, end)]
        number, unit = match.groups()
        yield begin, end, f"{number} {unit} {number}{unit}", places
