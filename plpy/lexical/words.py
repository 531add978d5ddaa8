"""Text made ready for a parser: headings, scripts without word spaces, parts; its language."""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pgblend.plpy.lexical.forms import (
    beyond_ascii,
    identifiers,
    unicode_form,
    whole_name,
    word_form,
)

# Three blanks may stand before a mark: what stands further in is code.
MARK = (
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,})(?P<info>.*)|(?P<marks>#{1,6})[ \t]+(?P<text>\S.*)"
    r"|(?P<line>={3,}|-{3,})[ \t\r]*$)"
)
# How a line begins that is no title above a line of = or -.
NO_TITLE = re.compile(r"\s{4}|\s*(?:[-*+>|#`~]|$)")
LONGEST = 200
TITLE = 3  # how many times a word of the title counts (title_weight)
CLOSING_MARKS = re.compile(r"(?:[ \t]+#+)?\s*$")
ADDRESS = re.compile(r"\]\([^)]*\)")


class OwnHeading(NamedTuple):
    """A heading that begins at `offset` of a text, with its level from 1."""

    offset: int
    level: int
    text: str


def markdown_headings(text: str) -> list[OwnHeading]:
    """Return the headings of a Markdown text in order; what is between fences is none.

    One # begins a comment in many languages. So such a line counts with nothing but blank lines
    beside it, or at the text's beginning.
    """
    found: list[OwnHeading] = []
    if "#" not in text and "===" not in text and "---" not in text:
        return found
    fence = ""
    for match in re.finditer(MARK, text, re.MULTILINE):
        mark = match["fence"]
        if fence:
            if mark and mark.startswith(fence) and not match["info"].strip():
                fence = ""
        elif mark:
            fence = mark if mark[0] == "~" or "`" not in match["info"] else ""
        elif match["marks"]:
            level = len(match["marks"])
            if level > 1 or _stands_alone(text, match.start(), match.end()):
                found.append(OwnHeading(match.start(), level, CLOSING_MARKS.sub("", match["text"])))
        elif heading := _underlined(text, match.start(), match["line"][0]):
            found.append(heading)
    return levelled(found)


def marked(headings: Sequence[OwnHeading], start: int, end: int) -> str:
    """Write the headings of a part of the text as a chunk has them (own_headings).

    A line each, marked as in Markdown.
    """
    first, last = (bisect_left(headings, (place,)) for place in (start, end))
    return "\n".join(f"{'#' * min(each.level, 6)} {each.text}" for each in headings[first:last])


def levelled(headings: Sequence[OwnHeading]) -> list[OwnHeading]:
    """Return headings one level deeper where several have level 1: none of these is a title."""
    deeper = [each.level for each in headings].count(1) > 1
    return [each._replace(level=each.level + deeper) for each in headings]


def heading_words(title: str, heading: str, text: str, own_headings: str) -> tuple[str, str]:
    """Return the headings above a chunk's text, and the words that those within it add to it.

    A word of a heading within counts twice more at level 3 or below, 3 times at 2, 4 times at 1.
    With the text itself that is 3 to 5. So no text's short last passage has a word before a
    heading's. One that is the title counts as such already, so TITLE times less. A heading that the
    text begins with is within it, not above. Whoever writes chunks says what headings are. So one
    counts only where it stands in the text, each behind the one before.
    """
    if not own_headings:
        return heading, ""
    lines = [line.partition(" ")[::2] for line in own_headings.split("\n")]
    first = lines[0][1]
    if heading == first or heading.endswith(f" > {first}"):
        heading = heading[: -len(first)]
    text, at, within = " ".join(text.split()), 0, list[str]()
    for marks, words in lines:
        found = text.find(sought := " ".join(words.split()), at)
        if found >= 0:
            at = found + len(sought)
            within += [words] * (_more(len(marks)) - TITLE * (words == title))
    return heading, ADDRESS.sub("]", "\n".join(within))


def _more(level: int) -> int:
    return max(5 - level, 2)


def _line_before(text: str, start: int) -> tuple[int, str]:
    """Return where the line before the one at `start` begins, and what stands there."""
    begin = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return begin, text[begin : max(start - 1, 0)]


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = _line_before(text, start)[1]
    after = text[end + 1 : end + 1 + LONGEST].split("\n", 1)[0]
    if before.strip():
        return False
    return not after.strip() or (not text[:start].strip() and not after.startswith("#"))


def _underlined(text: str, line: int, mark: str) -> OwnHeading | None:
    """Return the heading above a line of = or -, where it is a paragraph of one line."""
    start, title = _line_before(text, line)
    if len(title) > LONGEST or NO_TITLE.match(title) or _line_before(text, start)[1].strip():
        return None
    return OwnHeading(start, 1 if mark == "=" else 2, title.strip())


# A syllable: a base with its marks, vowels that are written before it and conjuncts.
THAI = (
    "[\u0e40-\u0e44]?[\u0e01-\u0e2f\u0e46]"
    + "[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*[\u0e30\u0e32\u0e33\u0e45]?"
)
LAO = (
    "[\u0ec0-\u0ec4]?[\u0e81-\u0eaf\u0ec6\u0edc-\u0edf]"
    + "[\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]*[\u0eb0\u0eb2\u0eb3\u0ebd]?"
)
MYANMAR = (
    "[\u1000-\u102a\u103f\u1050-\u1055]"
    + "(?:\u1039[\u1000-\u1021]|[\u102b-\u1038\u103a-\u103e\u1056-\u1059])*"
)
KHMER = "[\u1780-\u17b3\u17d7\u17dc](?:\u17d2[\u1780-\u17b3]|[\u17b4-\u17d1\u17d3\u17dd])*"
CHARACTER = (
    "[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u109d\u1780-\u17d3"
    + "\u17d7\u17dc\u17dd\u3005-\u3007\u3021-\u3029\u3041-\u3096\u3099\u309a\u309d-\u309f"
    + "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    + "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
# Full-width and half-width stops, and the quotation marks and brackets that may follow them.
STOPS = r"[\u3002\uff01\uff1f\uff1b\uff61]+"
CLOSING = r"[\u2019\u201d\u3009\u300b\u300d\u300f\u3011\u3015\uff09\uff63]*"
# Bytes that begin none of these characters in UTF-8; typographic quotes and dashes have others.
_OTHERS = bytes({*range(256)} - {0xE0, 0xE1, *range(0xE3, 0xF1)})
# Not compiled here: that takes 3 ms, which few sessions need.
# Where such a text is broken into lines its words go on; lines of a few characters are a list.
# Korean writes spaces, so a line ends with a word.
_UNSPACED = CHARACTER.replace("\uac00-\ud7a3", "")
_LINE_END = rf"\n(?<=[^\n]{{12}}{_UNSPACED}\n)(?={_UNSPACED})"
RUN = f"{CHARACTER}+(?:{_LINE_END}{CHARACTER}+)*"
MOST_PLACES = 255  # of a lexeme in a tsvector
SYLLABLE = f"{THAI}|{LAO}|{MYANMAR}|{KHMER}|{CHARACTER}"


def has_runs(text: str) -> bool:
    """Tell whether a text has scripts without word spaces; at a glance where it has none."""
    if text.isascii() or not text.encode().translate(None, _OTHERS):
        return False
    return re.search(CHARACTER, beyond_ascii(text)) is not None


def spaced_bigrams(text: str) -> str:
    """Write runs of scripts without word spaces as overlapping pairs: three characters as two.

    A pair is of syllables (Thai, Lao, Khmer, Myanmar: a base with its marks) or of characters
    (Chinese, Japanese; Korean, which writes particles onto its words). A run of one syllable stays
    itself.
    """

    def pairs(match: re.Match[str]) -> str:
        parts = re.findall(SYLLABLE, match[0])
        spaced = map("".join, pairwise(parts)) if len(parts) > 1 else parts
        return f" {' '.join(spaced)} "

    return re.sub(RUN, pairs, text) if has_runs(text) else text


def indexable_text(text: str, config: str = "") -> str:
    """Return a text as the parser gets it under a text search configuration.

    It is in one form (word_form). < > / \\ - are spaces, and scripts without word spaces pairs of
    syllables. So words within < > are no tags. The parts of paths and compounds are words, and 1042
    in ERR-1042 is no negative number. The SQL function of that name says the same for queries,
    where plain text is not sent here. A test compares both.
    """
    if not text:
        return text
    text = word_form(text, config)
    for character in "<>/\\-":
        text = text.replace(character, " ")
    return text if text.isascii() else spaced_bigrams(text)


def syllables(text: str, least: int) -> Counter[str]:
    """Return the syllables of runs of at least so many, and how often each stands."""
    if not has_runs(text):
        return Counter()
    runs = (re.findall(SYLLABLE, run) for run in re.findall(RUN, text))
    return Counter(one for run in runs if len(run) >= least for one in run)


def index_parts(
    title: str,
    heading: str,
    content: str,
    own_start: int,
    config: str = "",
    own_headings: str | None = None,
) -> list[str]:
    """Return title, heading, content, and content before own_start as the parser gets them.

    Then comes what the headings within add to the text (heading_words). Without `own_headings` they
    are those that Markdown marks in content.

    Last comes a tsvector's text of weight C, which counts for no length. It has the identifiers of
    the first three, with "=" before each. It also has the single syllables of what is their own: of
    runs the others have pairs. Identifiers have position 1, so they have places in no phrase.
    """
    if own_headings is None:
        own_headings = marked(markdown_headings(content), own_start, len(content))
    text = unicode_form(f"{title} {heading} {content}")
    quoted = [
        "'=" + name.replace("\\", "\\\\").replace("'", "''") + "':1C"
        for name in identifiers(text, True)
    ]
    if has_runs(text):
        own = word_form(f"{title} {heading} {content[own_start:]}", config)
        for one, count in syllables(own, 1 if own_start else 2).items():
            places = ",".join(f"{place}C" for place in range(1, min(count, MOST_PLACES) + 1))
            quoted.append(f"'{one}':{places}")
    above, within = heading_words(title, heading, content, own_headings)
    parts = (title, above, content, content[:own_start], within)
    return [*(indexable_text(part, config) for part in parts), " ".join(quoted)]


LETTER = re.compile(r"[^\W\d_]")
# Keys that programs give: digests, UUIDs, and the JSON array of a table with several key columns.
CODE = re.compile(r"[0-9a-f]{8}[0-9a-f-]{8,}|\[.*\]", re.IGNORECASE | re.DOTALL)
SUFFIX = re.compile(r"(?<=.)\.[^\W_]{1,8}$")
WITHIN_FILE = re.compile(r"(?<=.)(\.[^\W_]{1,8})[?#].*$", re.DOTALL)


def name_field(source_key: str) -> list[str]:
    """Return the words of a source key, and then the names that it is asked for by, each once.

    These are the whole key, the file's name (its last part, without what follows ? or #) and that
    without its suffix. What has no letters is left out; a code has no names: [""]. Words are those
    of a path that ends in a file with a suffix. Other keys are ids, whose words mislead.
    """
    source_key = unicodedata.normalize("NFC", source_key)  # a Mac's marks would part its words
    if CODE.fullmatch(source_key):
        return [""]
    parts = [part for part in re.split(r"[/\\]", source_key) if part and part[-1] != ":"]
    file_name = WITHIN_FILE.sub(r"\1", parts[-1]) if parts else ""
    stem = SUFFIX.sub("", file_name)
    names = dict.fromkeys(map(whole_name, (source_key, file_name, stem)))
    words: list[str] = []
    if stem != file_name and LETTER.search(stem):
        parted = (word for part in (*parts[:-1], stem) for word in re.split(r"[\W_]+", part))
        words = [file_name, *filter(str.isalpha, parted)]  # as it stands, it can be quoted
    return [" ".join(words), *(name for name in names if LETTER.search(name))]


def cut_at_word(text: str, length: int) -> str:
    """Return at most `length` characters, cut before a word that would not fit.

    A single word longer than that is cut within.
    """
    if len(text) <= length:
        return text
    head = text[: length + 1]
    end = max(head.rfind(blank) for blank in " \n\t")
    return head[:end].rstrip() if head[:end].strip() else text[:length]


# The letters of each, by ISO 639-1 code; Japanese has Chinese characters beside its own.
LETTERS = {
    "ja": "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "km": "\u1780-\u17d3\u17d7\u17dc\u17dd",
    "ko": "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "lo": "\u0e81-\u0ecd\u0edc-\u0edf",
    "my": "\u1000-\u103f\u1050-\u109d",
    "th": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "zh": "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
}
# Texts, which re compiles once: that takes 4 ms, which searches do without.
OTHER_WORD = f"[^\\W\\d_{''.join(LETTERS.values())}]+"
SAMPLE = 2400
# Two letters of such a script say about as much as a word of another one.
LETTERS_A_WORD = 2
# Chinese quotes fewer kana, Japanese is seldom written with fewer.
KANA = 0.05


def script_language(text: str) -> str | None:
    """Return the language that the script of a text tells, None where it tells none.

    It is zh, ja, ko, th, lo, km or my (ISO 639-1). The first 2,400 characters must have at least
    two of its letters for each word in other scripts.
    """
    sample = text[:SAMPLE]
    if sample.isascii():
        return None
    counts = {code: len(re.findall(f"[{some}]", sample)) for code, some in LETTERS.items()}
    east_asian = counts["ja"] + counts["zh"]
    japanese = counts["ja"] > KANA * east_asian
    counts |= {"ja": east_asian * japanese, "zh": east_asian * (not japanese)}
    language = max(counts, key=lambda code: counts[code])
    words = len(re.findall(OTHER_WORD, sample))
    return language if counts[language] >= max(1, LETTERS_A_WORD * words) else None
