"""Counting the tokens of many parts of a text that is encoded once."""

from bisect import bisect_left

from pgblend.cli.ingest.token_ends import WORD_CUT, token_blocks, token_ends
from pgblend.cli.tokens import count_tokens


class TokenSpans:
    """The tokens of text[begin:end], which is encoded once; all places are those of `text`."""

    def __init__(self, text: str, begin: int = 0, end: int | None = None) -> None:
        self._text = text
        self._begin = begin
        self._end = len(text) if end is None else end
        window = text[begin : self._end]
        self.ends = token_ends(window)
        # Where blocks are torn within a word, tokens are not those of the whole.
        self._torn = [
            begin + place
            for place, _ in token_blocks(window)
            if place and not WORD_CUT.match(window, place)
        ]

    def begun_before(self, place: int) -> int:
        """Return how many tokens begin before a place."""
        offset = place - self._begin
        return min(bisect_left(self.ends, offset) + 1, len(self.ends)) if offset else 0

    def count(self, start: int, end: int) -> int:
        """Return count_tokens(text[start:end]): only the words at both ends are encoded again."""
        text = self._text
        first = self._first_cut(start, end)
        last = self._last_cut(start, end)
        if first >= last or any(start < place < end for place in self._torn):
            return count_tokens(text[start:end])
        counted = self.begun_before(last) - self.begun_before(first)
        if start < first:
            counted += count_tokens(text[start:first])
        if last < end:
            counted += count_tokens(text[last:end])
        return counted

    def _first_cut(self, start: int, end: int) -> int:
        if start == self._begin or (start > self._begin and WORD_CUT.match(self._text, start)):
            return start
        match = WORD_CUT.search(self._text, max(start, self._begin) + 1, end)
        return match.start() if match else end

    def _last_cut(self, start: int, end: int) -> int:
        if end == self._end or (end < self._end and WORD_CUT.match(self._text, end)):
            return end
        cut = min(end, self._end)
        while (cut := self._text.rfind(" ", start + 1, cut)) > 0:
            if WORD_CUT.match(self._text, cut, end):
                return cut
        return start
