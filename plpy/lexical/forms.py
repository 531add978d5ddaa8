"""One form of a text for its words: of Unicode, of capitals, and the parts of names.

The stored text stays as it is. What the parser gets of chunks and queries is made of this form.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

# Numbers and units that people write in several ways, in one form.
#
# So 1,250 is 1250. In languages with a decimal comma 1.250 is that too, and 3,5 is 3.5. Both 10GB
# and 10 GB are 10, GB and 10GB.

# ruff: noqa: RUF001 - signs that look like others are what this is about


Spelling = tuple[int, int, str, list[int]]
"""Where it begins and ends, its form, and where each character of that stands."""

# Languages that write 3,5; those that put spaces between groups of three digits.
COMMA = (
    "arme|azer|bas|bulg|catal|croat|czech|dan|dutch|eston|finn|fren|german|greek|hungar|icel"
    "|indon|ital|latv|lithu|norw|polish|portug|roman|russ|serb|slov|span|swed|turk|ukrain"
)
SPACED = "bulg|czech|eston|finn|fren|hungar|latv|lithu|norw|polish|portug|russ|slov|span|swed|ukr"
# Blanks that part no words: between groups of digits they go, whatever the language.
GROUP_BLANK = r"[\u00a0\u2007\u2009\u202f](?<=\d.)(?=\d{3}(?!\d))"
UNIT = (
    r"[kKMGTP]?i?[bB](?:it)?(?:/s|ps)?|kbit|Mbit|Gbit|[kcdmµμn]?m|k?g|mg|µg|μg|[mcd]?l|[mMkG]?[WVA]"
    r"|[mMkG]?Wh|mAh|[kMGT]?Hz|m?s|min|h|km/h|mph|rpm|fps|dpi|px|pt|em|rem|ft|lbs?|oz|mi|[hkM]?Pa|bar"
    r"|psi|dB|k?cal|k?J|N|Nm|mol|ha|PS|hp|EUR|USD|CHF|GBP"
)
# Digits are taken as a whole, or each would be tried as the last one.
_AMOUNT = r"[0-9](?<![\w.,].)[0-9]*(?:\.[0-9]+)?(?![0-9])"
_IS_UNIT = rf" ?(?:°[CF]|{UNIT}|(?i:[kmgtp]i?b))(?!\w)"
WITH_UNIT = rf"({_AMOUNT}) ?(?=[^\W\d_]|°[CF])°?((?:(?<=°)[CF]|{UNIT}|(?i:[kmgtp]i?b))(?!\w))"


# What follows a first digit: 1,00,000 as in India, 1_000_000 as in code, where 001_002 is a name.
_LAKHS = r"\d?(?:,\d\d)+,\d{3}"
_OF_CODE = r"(?<!0)\d{0,2}(?:_\d{3})+"


@lru_cache(maxsize=100)
def _groups(config: str) -> tuple[str, bool]:
    """Return the pattern of numbers with groups in a configuration, and whether commas part it."""
    language = re.sub(r"^.*\.", "", config)
    if not re.match(COMMA, language):
        whole = rf"\d{{0,2}}(?:(?:,\d{{3}})+|(?:['’]\d{{3}})+)|{_LAKHS}"
        return rf"[0-9](?<![\w.,'’].)(?:{whole}|{_OF_CODE})(?!\d|[,'’_]\d)", False
    spaced = r"|(?: \d{3})+" if has_spaced_groups(config) else ""
    whole = rf"\d{{0,2}}(?:(?:\.\d{{3}})+|(?:['’]\d{{3}})+{spaced})"
    numbers = rf"{whole}(?:,\d+)?|\d*,\d+|{_OF_CODE}"
    return rf"[0-9](?<![\w.,'’].)(?:{numbers})(?!\d|[.,'’_]\d)", True


@lru_cache(maxsize=100)
def has_spaced_groups(config: str) -> bool:
    """Tell whether numbers of a configuration's language may have spaces between groups."""
    return re.match(SPACED, re.sub(r"^.*\.", "", config)) is not None


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
    kinds = kinds_of(text)
    if not any(one in kinds for one in _GROUPED):
        return
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
    """Give numbers with a unit: both, and then the whole as one word; of 37 °C that is 37C."""
    if not re.search(_NUMBER, kinds_of(text)) and "\u03bc" not in text:
        return
    for match in re.finditer(WITH_UNIT, text):
        (begin, middle), (start, end) = match.span(1), match.span(2)
        places = [*range(begin, middle), start, *range(start, end), begin]
        places += [*range(begin, middle), *range(start, end)]
        number, unit = match.groups()
        yield begin, end, f"{number} {unit} {number}{unit}", places


# What Unicode calls default ignorable: soft hyphens, joiners, marks of direction, variants.
IGNORABLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# A terminal's commands: colours, titles of windows, links.
COMMAND = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_k]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
LONE_RETURN = r"\r(?!\n)"
# What a form leaves out or changes by other means than NFKC.
_ODD = rf"[\u0130\u03a3\u03c3\u2010\u2212]|{IGNORABLE}"
_BEYOND = r"[^\W\d_\x00-\xff]"
_FEW_LETTERS = 16  # are looked for one by one
# What parts fields, lines and pages.
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
# 2024-05-01T03:00Z is a day and a time.
DAY = r"\d{4}-\d\d-\d\d"
MOMENT = r"T(?<=\d{4}-\d\d-\d\dT)(\d\d:\d\d[\d:.]*)(?:Z(?!\w))?"
# v2.10 is 2.10; what is written as it stands is an identifier beside that.
VERSION_SIGN = r"[vV](?<![^\W_].)(?=[0-9]+\.[0-9])"
SMALL, CAPITAL = "[a-zß-öø-ÿα-ώа-џ]", "[A-ZÀ-ÖØ-Þ\u0130Α-ΫЀ-Я]"
# Where words with letters beyond Latin-1 may have parts.
_PARTED_BEYOND = (
    rf"{_BEYOND}(?:(?=\.\w|[0-9]|{CAPITAL})|(?<=\w\..)|(?<=\w{CAPITAL}.)|(?<=\w{CAPITAL}{SMALL}.)"
    rf"|(?<={CAPITAL})(?<=[^\W_].))"
)
# Where the case changes within a word: parse|HTML|Response, utf8|Decode, but not PhD and URLs.
CUT = (
    rf"{CAPITAL}(?:(?<={SMALL}.)(?=[^\W_])|(?<=[0-9].)(?={SMALL})|(?<={CAPITAL}.)(?={SMALL}{{2}}))"
)
# A version after the letters of a name: python|3.12, v|3, but not jdk17 and IFITM3.
_NAMED_VERSION = (
    r"[0-9](?<=[^\W\d_].)(?:(?<=\b[vV].)|(?=[0-9]*\.[0-9]))"
    r"[0-9]*(?:(?:\.[0-9]+)+(?:[a-z]{1,5}[0-9]+)?)?(?![0-9A-Za-z_À-ɏͰ-ԯ]|\.[0-9])"
)
CUTS = f"{CUT}|{_NAMED_VERSION}"
# Letters and digits of scripts that write spaces between words.
OF_WORD = r"[^\W_\u0e00-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\uff9f\U00020000-\U0003ffff]"
INNER = rf"{OF_WORD}*(?:(?<=[0-9])(?:\.[0-9]+)+{OF_WORD}*)?"
LONGEST = 100


def _kind(one: int) -> int:
    """Return what a byte of Latin-1 is to a form: a letter a or A, a digit 0, a control zero.

    Some signs stand for themselves, others are blanks; soft hyphens are as controls.
    """
    sign = chr(one)
    if one < 128 and sign in "\t\n',-.?_":
        return one
    if one < 32 or 127 <= one < 160 or one == 173:
        return 0
    is_digit = one < 128 and sign.isdigit()
    return ord("0" if is_digit else "a" if sign.islower() else "A" if sign.isupper() else " ")


_KINDS = bytes(map(_kind, range(256)))
_CASE_CHANGES = (b"aA", b"0Aa", b"AAaa")
_HUMPS = (*_CASE_CHANGES, b"a0", b"A0")
_GROUPED = (b"0,0", b"0.0", b"0'0", b"0_0", b"0 0", b"0?0")
# Digits after a letter that may be a version, with a dot or after that letter alone, or an hour.
_VERSION = rb"0(?<=[aA]0)(?:(?=0*\.0)|(?<![aA0_]..)|(?<=0A0))"
# Where the case changes within a word or a version follows; below, what else is not its own form
# in any language. Each begins with a sign of its own, since that is found soonest.
_INNER_PARTS = (rb"A(?:(?<=aA)|(?<=0A)(?=a)|(?<=AA)(?=aa))", _VERSION)
_OF_DIGITS = (rb",(?<=0,)(?=0)", rb"'(?<=0')(?=0)", rb"_(?<=0_)(?=0)")
_BETWEEN_DIGITS = rb"0(?=[,'_. ?]0)"
_OTHER_FORMS = (*_INNER_PARTS, rb"\.(?=[aA0_])", *_OF_DIGITS, rb"\x00")
# The same in one, where it is enough to know that there is any.
_OTHER_FORM = (
    rb"[A.,'_\0](?:(?<=aA)|(?<=0A)(?=a)|(?<=AA)(?=aa)|(?<=\.)(?=[aA0_])|(?<=0[,'_])(?=0)|(?<=\0))"
)
# How a number with a unit may begin.
_NUMBER = rb"0(?= {0,2}[aA])"
_AMOUNT_ENDS = rb"0(?= {0,2}[aA]{1,5}(?![aA0_]))"
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
    text = re.sub(COMMAND, "", text)
    if "\b" in text:
        text = "".join(text[place] for place in shown(text))
    return re.sub(CONTROL, lambda found: APART_BY.get(found[0], ""), text)


def shown(text: str) -> list[int]:
    """Return the places of a text that a terminal shows in the end: no backspace, nothing below.

    So manual pages print bold letters twice, and programs count up. Nothing goes before its line.
    """
    kept: list[int] = []
    for found in re.finditer(r"[^\x08]+|\x08+", text):
        if found[0][0] != "\b":
            kept += range(*found.span())
            continue
        columns = len(found[0])
        while columns > 0 and kept and text[kept[-1]] != "\n":
            columns -= width(text[kept.pop()])
    return kept


def width(sign: str) -> int:
    """Return how many columns of a terminal a character takes."""
    is_wide = unicodedata.east_asian_width(sign) in ("W", "F")
    return 0 if unicodedata.combining(sign) else 2 if is_wide else 1


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
    """Tell at a glance of a text that it is its own form, as most are."""
    if odd_signs(text):
        return False
    kinds = kinds_of(text)
    if re.search(_OTHER_FORM, kinds) or re.search(_VERSION, kinds):
        return False
    return next(_language_changes(text, kinds, config), None) is None


def odd_signs(text: str) -> list[str]:
    """Return the signs of a text that may have another form, such as ligatures."""
    if text.isascii():
        return []
    return list(filter(_is_odd, set(beyond_ascii(text))))


@lru_cache(maxsize=20_000)
def _is_odd(sign: str) -> bool:
    is_joined = unicodedata.category(sign)[0] == "M" or "\u1100" <= sign <= "\u11ff"
    return is_joined or bool(re.match(_ODD, sign)) or normal(sign) != sign


def normal(text: str) -> str:
    """Return the compatibility form of a text."""
    return unicodedata.normalize("NFKC", text)


def changes(text: str, kinds: bytes, config: str) -> Iterator[int]:
    """Give, in no order, where a text without odd signs may not be its own form (kinds_of)."""
    yield from _found(_OTHER_FORMS, kinds)
    yield from _language_changes(text, kinds, config)


def _language_changes(text: str, kinds: bytes, config: str) -> Iterator[int]:
    """Give those of the changes that depend on language or letters."""
    yield from _parted_beyond(text)
    if "I" in text and is_dotless(config):
        yield from (found.start() for found in re.finditer("I", text))
    if has_spaced_groups(config):
        yield from (found.start() for found in re.finditer(rb"0 0", kinds))
    if "\u2019" in text:
        yield from (found.start() for found in re.finditer(rb"0\?0", kinds))
    ends = [found.end() for found in re.finditer(_AMOUNT_ENDS, kinds)]
    if "\u03bc" in text:
        ends += [found.end() for found in re.finditer("[0-9](?= ?\u03bc)", text)]
    is_unit = re.compile(_IS_UNIT).match
    yield from (end for end in ends if is_unit(text, end))


def inner_parts(text: str, kinds: bytes) -> Iterator[int]:
    """Give, in no order, where words may have parts: changes of case, versions, numbers' units."""
    yield from _found((*_INNER_PARTS, rb"0(?=[aA])"), kinds)
    yield from _parted_beyond(text)


def grouped_digits(kinds: bytes) -> Iterator[int]:
    """Give, in no order, the signs between digits of which a number may be made."""
    return (found.end() for found in re.finditer(_BETWEEN_DIGITS, kinds))


def _found(patterns: Iterable[bytes], kinds: bytes) -> Iterator[int]:
    for pattern in patterns:
        yield from (found.start() for found in re.finditer(pattern, kinds))


def _parted_beyond(text: str) -> Iterator[int]:
    letters = set() if text.isascii() else set(re.findall(_BEYOND, beyond_ascii(text)))
    if len(letters) > _FEW_LETTERS:
        yield from (found.start() for found in re.finditer(_PARTED_BEYOND, text))
        return
    is_parted = re.compile(_PARTED_BEYOND).match
    for letter in letters:
        yield from (at for at in places_of(letter, text) if is_parted(text, at))


def places_of(part: str, text: str) -> Iterator[int]:
    """Give where a part of a text begins."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def kinds_of(text: str) -> bytes:
    """Return what each character of a text is to a form (_kind); ? for one beyond Latin-1."""
    return text.encode("latin-1", "replace").translate(_KINDS)


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
    text = re.sub(VERSION_SIGN, "", with_inner_blanks(unicode_form(text)))
    text = with_one_form(text, config)
    parts: list[str] = []
    last = 0
    for _, end, found in humps(text):
        parts += text[last:end], *(f" {text[one:other]}" for one, other in found)
        last = end
    return small_form("".join([*parts, text[last:]]) if parts else text, config)


def with_inner_blanks(text: str) -> str:
    """Return a text, as long, with blanks for dots and letters that part words and moments."""
    if "T" in text:
        text = re.sub(MOMENT, lambda one: f" {one[1]}".ljust(len(one[0])), text)
    return re.sub(INNER_DOT, " ", text)


def humps(text: str) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Give each word with parts: where it begins and ends, and so its parts.

    Its case changes, or a version follows its letters. Parts have at least two letters: JavaScript
    has two, iPhone one. Numbers may be short.
    """
    kinds = kinds_of(text)
    is_plain = text.isascii() or not re.search(_BEYOND, beyond_ascii(text))
    if is_plain and not any(one in kinds for one in _HUMPS):
        return
    last = 0
    is_of_word, inner, cuts = map(re.compile, (OF_WORD, INNER, CUTS))
    for cut in cuts.finditer(text):
        if cut.start() < last:
            continue
        begin = cut.start()
        while begin > last and is_of_word.match(text, begin - 1):
            begin -= 1
        match = inner.match(text, cut.start())
        last = end = match.end() if match else cut.end()
        if end - begin > LONGEST:
            continue
        found = (one.start() for one in cuts.finditer(text, begin + 1, end))
        # Of digests and the like, where digits stand among letters, numbers are no parts.
        parted = [one for one in found if text[one].isalpha() or text[begin:one].isalpha()]
        if parted:
            parts = pairwise([begin, *parted, end])
            yield (
                begin,
                end,
                [(one, other) for one, other in parts if other - one > 1 or text[one].isdigit()],
            )


# What is looked for as it stands: identifiers in a text, a document's name and key.

# Plain words and numbers, which hold no identifier, are passed over as quickly as can be.
PART = r"0-9A-Za-z_À-ɏͰ-ԯ./\\:@#+~$-"
PLAIN = rf"(?:[A-Za-z][a-z]*|[0-9]+)[.:]*(?![{PART}]|\(\))"
TOKEN = rf"{PLAIN}|([{PART}]+(?:\(\))?)"  # compiled by whom it serves
OPTION = r"(--?[A-Za-z][\w-]*|-\d+(?:\.\d+)*)[.:]*"
# Pictures, of which parsers make no words, with the two letters of a flag; tints are left out.
PICTURE = (
    "[\U0001f1e6-\U0001f1ff]{2}|[\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001f3fa"
    "\U0001f400-\U0001faff]"
)
# AT&T, Q&A: parsers part them, and their parts may be stop words alone.
# Fields of an address (?a&b=1) are none.
JOINED_BY_AND = rf"(?<![{PART}&=?])(?:[A-Za-zÀ-ɏͰ-ԯ]+&)+[A-Za-zÀ-ɏͰ-ԯ]+(?![\w&=])"


def identifiers(text: str, with_parts: bool) -> list[str]:
    """Return the distinct identifiers of `text`, case-folded, in byte order.

    An identifier joins its parts with `_ . / \\ : @ # + ~ -` (ERR-1042, foo.bar_baz(), /etc/fstab,
    v1.2.3), letters by & (AT&T). Or it changes its case between words (CamelCase), is called
    (run()) or is like C++. Ordinary compounds (well-known, and/or, 3.14, e.g., mRNA) are none.
    `with_parts` adds what can be looked for on its own. These are names in a path or a dotted name
    that are identifiers themselves. An option of a command is one, with its dashes (--force, -x).
    So are a number with its sign (-40), and a picture (an emoji).
    """
    text = unicode_form(text)
    found = set(pictures(text))
    if "&" in text:
        names = re.findall(JOINED_BY_AND, text)
        found.update(small(name) for name in names if len(name) <= LONGEST)
    for token in set(re.findall(TOKEN, text)):
        if 1 < len(token) <= LONGEST:
            found.update(names_in(token, with_parts))
    return sorted(found)


def pictures(text: str) -> list[str]:
    """Return the pictures of a text, in their order."""
    return [] if text.isascii() else re.findall(PICTURE, beyond_ascii(text))


@lru_cache(maxsize=20_000)
def names_in(token: str, with_parts: bool) -> tuple[str, ...]:
    """Return the identifiers of one token; remembered, since a text's tokens come again."""
    if option := re.fullmatch(OPTION, token):
        return (option[1].lower(),)
    bare = stripped(token)
    if not (is_identifier(bare) or (token.endswith("()") and len(bare) > 1)):
        return ()
    names = [bare]
    if with_parts:
        parts = re.split(r"[./\\:@#]+", bare) + re.split(r"[/\\]", bare)[-1:]
        names += [part for part in parts if is_identifier(part)]
        names += re.findall(rf"^{DAY}(?=T\d)", bare)
        names += re.findall(r"^[A-Za-z]{1,2}(?:\+\+|#)(?=[0-9])", bare)  # C++17
    return tuple(map(small, names))


def small(name: str) -> str:
    """Return a name in small letters, of whatever language: all of i, dotted or not, are one."""
    return name.casefold().replace("i\u0307", "i").replace("\u0131", "i")


def stripped(token: str) -> str:
    """Take punctuation off a token's ends, but not what makes C++, C#, /etc and __init__."""
    token = token.removesuffix("()").rstrip(".:@~$-/\\")
    if not re.fullmatch(r"[A-Za-z]{1,2}(?:\+\+|#)", token):
        token = token.rstrip("+#.:@~$-/\\")
    return token.lstrip(".:@#+~$-\\")


def is_identifier(token: str) -> bool:
    """Tell whether a token without outer punctuation is more than a word or a number."""
    if token.isalnum():
        return bool(re.search(r"[a-z]{2}[A-Z][a-z]", token))
    words = [word for word in re.split(r"[^0-9A-Za-zÀ-ɏͰ-ԯ]+", token) if word]
    if not words:
        return False
    if "_" in token or "::" in token or "\\" in token or re.search(r"[A-Za-z][+#]", token):
        return True
    if all(word.isdigit() for word in words):
        return len(words) > 2
    if any(character.isdigit() for character in token):
        return True
    if "/" in token:
        return token.startswith("/") or token.count("/") > 1 or "." in token
    lengths = [len(part) for part in token.split(".")]
    return len(lengths) > 1 and min(lengths) > 0 and max(lengths) > 1


LONGEST_NAME = 255


def whole_name(text: str) -> str:
    """Return a name in one case with single spaces; "" for what is too long for a name."""
    return " ".join(small(unicode_form(text)).split()) if len(text) <= LONGEST_NAME else ""
