"""Which part of a passage to show: the window with most of what was looked for."""

import re
from collections.abc import Sequence

from pgblend.plpy.text.marks import Hit
from pgblend.plpy.text.words import CHARACTER, SYLLABLE

_STOPS = (". ", "? ", "! ", ".\n", "\n\n")
_UNSPACED_STOPS = ("\u3002", "\uff01", "\uff1f")
_LONGEST_SYLLABLE = 8


def best_span(hits: Sequence[Hit], phrases: Sequence[Hit], most: int) -> tuple[int, int]:
    """Return the first place and the end of the hits to show, at most `most` characters.

    `hits` are in order, each within `most` characters. These are the ones with most different
    words; among equals those with most different phrases whole, then the earliest.
    """
    if hits[-1][1] - hits[0][0] <= most:
        return hits[0][0], hits[-1][1]
    best = (0, 0)
    span = hits[0][:2]
    counts: dict[int, int] = {}
    end = 0
    for start, _, word in hits:
        while end < len(hits) and hits[end][1] - start <= most:
            counts[hits[end][2]] = counts.get(hits[end][2], 0) + 1
            end += 1
        if len(counts) >= best[0]:
            last = hits[end - 1][1]
            whole = {phrase for begin, stop, phrase in phrases if start <= begin and stop <= last}
            if (len(counts), len(whole)) > best:
                best = (len(counts), len(whole))
                span = (start, last)
        counts[word] -= 1
        if not counts[word]:
            del counts[word]
    return span


def cut_window(text: str, first: int, last: int, most: int) -> tuple[int, int]:
    """Return where a window of at most `most` characters begins and ends that holds first to last.

    The text is longer. The window begins with the text, with a sentence, or so that it shows all
    the rest. It ends with a sentence that ends in its second half. Else it is cut between words;
    only a word of more than half a window is cut.
    """
    lowest, whole = max(0, last - most), len(text) - most
    if lowest == 0:
        begin = 0
    elif first >= whole:
        begin = _first_border(text, max(lowest, whole), first)
    else:
        begin = _last_stop(text, lowest, first)
        if begin < 0:
            begin = _first_border(text, (lowest + first) // 2, first)
    limit, half = begin + most, begin + most // 2
    if limit >= len(text):
        return begin, len(text)
    soonest = max(last, half)
    end = _last_stop(text, soonest + 1, limit + 1) - 1
    if end < soonest:
        end = _last_border(text, soonest, limit) or (last if last > half else limit)
    return begin, end


def _last_stop(text: str, low: int, high: int) -> int:
    """Return where the last sentence begins of those that begin between two places, -1 for none.

    A small letter begins none, as after an abbreviation.
    """
    low = max(low - 2, 0)
    at = max([text.rfind(stop, low, high) for stop in _STOPS]) + 2
    if not text.isascii():
        at = max(at, max([text.rfind(stop, low + 1, high) for stop in _UNSPACED_STOPS]) + 1)
    return at if at > 1 and not text[at : at + 1].islower() else -1


def _first_border(text: str, low: int, high: int) -> int:
    """Return the first place from `low` where a word begins; `high` where none does before."""
    blank = text.find(" ", low - 1, high)
    if blank >= 0:
        return blank + 1
    places = range(low, high)
    return next((at for at in places if not text[at].isspace() and is_border(text, at)), high)


def _last_border(text: str, low: int, high: int) -> int | None:
    """Return the last place from `low` to `high` where a word ends."""
    blank = text.rfind(" ", low, high + 1)
    if blank >= 0:
        return blank
    places = range(high, low - 1, -1)
    return next((at for at in places if not text[at - 1].isspace() and is_border(text, at)), None)


def is_border(text: str, at: int) -> bool:
    """Tell whether a word may begin or end at a place within a text."""
    before, after = text[at - 1], text[at]
    if before.isspace() or after.isspace():
        return True
    if before.isascii() and after.isascii():
        return False
    if not (re.match(CHARACTER, before) or re.match(CHARACTER, after)):
        return False
    syllable = re.compile(SYLLABLE)
    starts = range(max(0, at - _LONGEST_SYLLABLE), at)
    syllables = (syllable.match(text, start) for start in starts)
    return all(found is None or found.end() <= at for found in syllables)
