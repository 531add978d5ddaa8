"""Split a text into overlapping chunks within a limit of tokens, and estimate tokens."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pgblend.plpy.lexical.words import CLOSING, STOPS

# Estimated tokens of a text, and where it may be cut so that they add up.

# Kind of run -> (pattern, tokens of a run, tokens of each character of it). Fitted by least squares
# to cl100k_base on real text in 15 languages; the first pattern that matches decides.
RUNS = {
    "newlines": (r"\s*[\r\n]\s*", 0.95, 0.12),
    "spaces": (r"[^\S\r\n]+(?=\s|$)|[^\S\r\n](?=\d)", 1.0, 0.0),
    "accented": (
        r"[^\S\r\n]?[A-Za-z]*[\u00c0-\u024f\u1e00-\u1eff][A-Za-z\u00c0-\u024f\u1e00-\u1eff]*",
        1.1,
        0.36,
    ),
    "ascii": (r"[\t -/:-@\[-`{-~]?[A-Za-z]+", 0.45, 0.12),
    "digits": (r"[0-9]+", 0.33, 0.333),
    "punctuation": (r"[^\S\r\n]?[!-/:-@\[-`{-~]+", 0.9, 0.1),
    "cyrillic": (r"[^\S\r\n]?[\u0400-\u052f]+", 0.23, 0.43),
    "semitic": (r"[^\S\r\n]?[\u0590-\u06ff]+", -0.15, 0.72),
    "greek": (r"[^\S\r\n]?[\u0370-\u03ff]+", -0.85, 1.02),
    "indic": (r"[^\S\r\n]?[\u0900-\u0dff]+", -0.5, 1.08),
    "thai": (r"[^\S\r\n]?[\u0e00-\u0eff]+", 0.2, 0.96),
    "east_asian": (r"[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]+", 0.57, 1.22),
    "typographic": (r"[^\S\r\n]?[\u0080-\u00bf\u2000-\u206f]+", 0.3, 0.8),
    "other": (r"\S", 2.0, 0.0),
    "rest": (r"\s", 1.0, 0.0),
}
# Most runs are words of ASCII, which the others' patterns would be tried on first.
WORD = RUNS["ascii"][0] + r"(?![A-Za-z\u00c0-\u024f\u1e00-\u1eff])"
RUN = re.compile("|".join([WORD, *(pattern for pattern, _, _ in RUNS.values())]))
LONGEST_KEPT, MOST_KEPT = 40, 20_000


class _Tokens(dict[str, int]):
    """Estimated tokens of a run, remembered: most runs are words that come again."""

    def __missing__(self, run: str) -> int:
        if run.isascii() and run[-1].isalpha():
            _, base, rate = RUNS["ascii"]
        else:
            _, base, rate = next(kind for kind in RUNS.values() if re.match(kind[0], run))
        tokens = max(1, round(base + rate * len(run)))
        if len(run) < LONGEST_KEPT and len(self) < MOST_KEPT:
            self[run] = tokens
        return tokens


_TOKENS = _Tokens()


def approximate_tokens(text: str) -> int:
    """Estimate how many cl100k tokens `text` has.

    Each run of like characters counts by its kind and length, and at least once. Measured on text
    in 15 languages, the mean is off by at most 10 % (code and technical English 15 % too high,
    Vietnamese 22 % too high).
    """
    return sum(map(_TOKENS.__getitem__, RUN.findall(text)))


# A line, and the blank lines after it. No token of cl100k begins before a line end and goes on in
# the words of the line below.
LINE_RUN = re.compile(r"[^\n]*(?:\n(?:\s*\n)?|$)")
# Within a line: before a single space between words, or before East Asian punctuation.
WORD_CUT = re.compile(r"(?<=\S) (?=\S)|(?<=[^\W_])(?=[\u3001\u3002\uff01\uff0c\uff1b\uff1f])")
# Lines longer than this are cut at the first such place after so many characters.
PIECE_CHARACTERS = 64
# Where there is none, so that the tokens of a piece fit into a smallint.
LONGEST_PIECE = 8000


def text_pieces(text: str, own_start: int = 0) -> list[int]:
    """Return the character offsets at which the pieces of `text` begin, in order.

    Pieces are lines with the blank lines after them, long lines cut between words. A new one begins
    at `own_start`. Cuts stand where cl100k's pattern always begins a new word. So the tokens of a
    run of pieces are the sum of theirs. Only at `own_start`, and every 8,000 characters of a word
    without end, the sum may be a token or two higher. An empty text has no pieces.
    """
    starts: list[int] = []
    for begin, end in ((0, own_start), (own_start, len(text))):
        while begin < end:
            match = LINE_RUN.match(text, begin, end)
            line_end = match.end() if match else end
            while line_end - begin > PIECE_CHARACTERS:
                starts.append(begin)
                cut = WORD_CUT.search(text, begin + PIECE_CHARACTERS, line_end)
                begin = min(cut.start() if cut else line_end, begin + LONGEST_PIECE)
            if begin < line_end:
                starts.append(begin)
                begin = line_end
    return starts


# Coarse to fine: paragraphs, lines, sentences, those of scripts that put no space between them,
# words. A cut is the end of a match. Sentence and word cuts stand before the white space, where the
# tokens of byte-pair encodings begin.
SEPARATORS = (
    re.compile(r"\n\s*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"(?<=[.?!;])(?=\s)"),
    re.compile(STOPS + CLOSING),
    re.compile(r"(?<=\S)(?=\s)"),
)
# The hard token split, in two steps: first only where no emoji or accented letter is torn apart.
WHOLE_CHARACTERS_LEVEL = len(SEPARATORS)
LAST_LEVEL = WHOLE_CHARACTERS_LEVEL + 1
# What a long word is counted by where tokens are only estimated.
WORD_PIECE = re.compile(r"\s?\S{1,64}|\s{1,64}")
ZERO_WIDTH_JOINER = "\u200d"


def split_text(
    text: str,
    count_tokens: Callable[[str], int],
    chunk_size: int = 400,
    overlap: int = 80,
    min_size: int = 40,
    token_ends: Sequence[int] | None = None,
    start: int = 0,
    count_between: Callable[[int, int], int] | None = None,
) -> list[dict[str, Any]]:
    """Split `text` recursively at paragraphs, lines, sentences, words, and at last at tokens.

    Sizes are in tokens of `count_tokens`. Neighbouring segments are merged up to `chunk_size`. Each
    chunk but the first begins with up to `overlap` tokens of the text before it. They count towards
    the size. Text under `min_size` joins a neighbour where both fit together.

    `token_ends` are the character offsets at which each token of the text ends, in order. A token
    that ends inside a character counts as ending before it. Left out, they are estimated by
    counting word by word. They only steer the cuts. Every chunk is counted as a whole, by
    `count_between(start, end)` where it is given, which is count_tokens(text[start:end]). What
    stands before `start` was split already, and serves the first chunk's overlap alone.

    Returns dicts of content (= text[start_offset:end_offset]), own_start (where in content the
    chunk's own text begins, after the overlap), start_offset, end_offset, start_line, end_line
    (from 1, inclusive) and token_count. The own texts hold every character that is not white space
    once and in order. Blank text gives no chunk; a single character is never cut, however large.
    """
    if not 0 <= overlap < chunk_size:
        raise ValueError(
            f"overlap must be from 0 to chunk_size - 1 ({chunk_size - 1}), not {overlap}"
        )
    count = count_between or (lambda first, last: count_tokens(text[first:last]))
    ends = _estimate_token_ends(text, count_tokens) if token_ends is None else token_ends
    leaves = _leaves(text, ends, chunk_size - overlap, start, len(text), 0)
    pending = _merge(leaves, ends, chunk_size, overlap, min_size, start)[::-1]
    rows: list[dict[str, Any]] = []
    position, line = 0, 1
    while pending:
        own_start, own_end = _strip(text, *pending.pop())
        if own_start == own_end:
            continue
        begin, token_count = _fit(text, ends, count, own_start, own_end, chunk_size, overlap)
        if token_count > chunk_size and own_end - own_start > 1:
            middle = _middle(text, ends, own_start, own_end)
            pending += [(middle, own_end), (own_start, middle)]
            continue
        line += text.count("\n", position, own_start)
        position = own_start
        rows.append(
            {
                "content": text[begin:own_end],
                "own_start": own_start - begin,
                "start_offset": begin,
                "end_offset": own_end,
                "start_line": line - text.count("\n", begin, own_start),
                "end_line": line + text.count("\n", own_start, own_end),
                "token_count": token_count,
            }
        )
    return rows


def _estimate_token_ends(text: str, count_tokens: Callable[[str], int]) -> list[int]:
    """Count word by word, and spread a word's tokens evenly over its characters."""
    ends: list[int] = []
    for match in WORD_PIECE.finditer(text):
        start, size = match.start(), match.end() - match.start()
        count = count_tokens(match.group())
        ends.extend(start + size * (index + 1) // count for index in range(count))
    return ends


def _tokens_up_to(ends: Sequence[int], position: int) -> int:
    """Count the tokens before `position`, one that lies across it included."""
    return min(bisect_left(ends, position) + 1, len(ends)) if position else 0


def _leaves(
    text: str, ends: Sequence[int], limit: int, start: int, end: int, level: int
) -> Iterator[int]:
    """Yield the ends of the largest segments within `limit` tokens, finer ones where need be."""
    tokens = _tokens_up_to(ends, end) - _tokens_up_to(ends, start)
    if tokens <= limit or level > LAST_LEVEL:
        yield end
        return
    for cut in _cuts(text, ends, start, end, level):
        if cut > start:
            yield from _leaves(text, ends, limit, start, cut, level + 1)
            start = cut


def _cuts(text: str, ends: Sequence[int], start: int, end: int, level: int) -> Iterator[int]:
    """Yield the places in order where separators of one level cut text[start:end], then `end`."""
    if level < WHOLE_CHARACTERS_LEVEL:
        for match in SEPARATORS[level].finditer(text, start, end):
            yield match.end()
    else:
        for cut in ends[bisect_right(ends, start) : bisect_left(ends, end)]:
            if level == LAST_LEVEL or not _joins_previous(text, cut):
                yield cut
    yield end


def _joins_previous(text: str, position: int) -> bool:
    """Tell whether the character at `position` forms one sign with the one before it."""
    before, character = text[position - 1], text[position]
    return (
        unicodedata.category(character).startswith("M")
        or ZERO_WIDTH_JOINER in (before, character)
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or ("\U0001f1e6" <= character <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff")
    )


def _merge(
    leaves: Iterator[int],
    ends: Sequence[int],
    chunk_size: int,
    overlap: int,
    min_size: int,
    start: int,
) -> list[tuple[int, int]]:
    """Join neighbouring segments to spans that leave room for the overlap.

    What is still under the minimum may use the room of the overlap as well.
    """
    spans: list[tuple[int, int]] = []
    first = end = start
    start_tokens = end_tokens = _tokens_up_to(ends, start)
    for leaf_end in leaves:
        leaf_tokens = _tokens_up_to(ends, leaf_end)
        alone = (not spans and not first) or end_tokens - start_tokens < min_size
        if end > start and leaf_tokens - start_tokens > chunk_size - (0 if alone else overlap):
            spans.append((start, end))
            start, start_tokens = end, end_tokens
        end, end_tokens = leaf_end, leaf_tokens
    if spans and end_tokens - start_tokens < min_size:
        previous_start = spans[-1][0]
        if end_tokens - _tokens_up_to(ends, previous_start) <= chunk_size:
            start = previous_start
            spans.pop()
    return [*spans, (start, end)]


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out the white space at both ends of text[start:end]."""
    own = text[start:end]
    start += len(own) - len(own.lstrip())
    return start, start + len(own.strip())


def _fit(
    text: str,
    ends: Sequence[int],
    count: Callable[[int, int], int],
    own_start: int,
    own_end: int,
    chunk_size: int,
    overlap: int,
) -> tuple[int, int]:
    """Choose where the overlap begins so that all fits; return that place and the exact count."""
    own_tokens = _tokens_up_to(ends, own_end) - _tokens_up_to(ends, own_start)
    room = min(overlap, chunk_size - own_tokens)
    while True:
        start = _overlap_start(text, ends, own_start, room) if room > 0 else own_start
        token_count = count(start, own_end)
        if token_count <= chunk_size or start == own_start:
            return start, token_count
        room -= token_count - chunk_size


def _overlap_start(text: str, ends: Sequence[int], own_start: int, room: int) -> int:
    """Go back `room` tokens, then on to the next word where that leaves at least half of them."""
    tokens = _tokens_up_to(ends, own_start) - room
    start = ends[tokens - 1] if tokens > 0 else 0
    if start and not text[start].isspace() and not text[start - 1].isspace():
        space = re.compile(r"\s").search(text, start, (start + own_start) // 2)
        start = space.start() if space else start
    while start < own_start and (text[start].isspace() or (start and _joins_previous(text, start))):
        start += 1
    return start


def _middle(text: str, ends: Sequence[int], start: int, end: int) -> int:
    """Choose a place to halve a span that turned out to be too large."""
    half = (_tokens_up_to(ends, end) - _tokens_up_to(ends, start)) // 2
    middle = next(_leaves(text, ends, max(half, 1), start, end, 0))
    return middle if middle < end else (start + end) // 2
