"""Where the words of a query stand in a text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from pgblend.plpy.text.query import query_groups
from pgblend.plpy.text.vocabulary import Vocabulary, beginning_of
from pgblend.plpy.text.words import RUN, SYLLABLE, indexable_text, may_have_runs

Hit = tuple[int, int, int]
"""Where a word starts and ends in a text, and which of the words looked for it is."""

# Of ASCII all but letters and digits are blanks. Capitals are small but for I, which is no
# capital i in Turkish: the parser knows.
_SIGNS = bytes([*range(48), *range(58, 65), *range(91, 97), *range(123, 128)])
_BLANKS = bytes.maketrans(
    _SIGNS + b"ABCDEFGHJKLMNOPQRSTUVWXYZ", b" " * len(_SIGNS) + b"abcdefghjklmnopqrstuvwxyz"
)
_ASCII = bytes(range(128))


def spaced_words(text: str) -> str:
    """Return a text, as long and small, with a blank for each character that is of no word."""
    for sign in _other_letters(text):
        if not f"a{sign}".isidentifier():  # else it is a letter, or a mark of the one before
            text = text.replace(sign, " ")
    return text.encode().translate(_BLANKS).decode()


def _other_letters(text: str) -> set[str]:
    """Return the characters of a text that are not of ASCII."""
    return set() if text.isascii() else set(text.encode().translate(None, _ASCII).decode())


def find_words(text: str, vocabulary: Vocabulary, lexemes: Iterable[str]) -> dict[int, str]:
    """Return where words are that may have one of some lexemes.

    Scripts without word spaces are left out.
    """
    others = _other_letters(text)
    if others and may_have_runs("".join(others)):
        text = re.sub(RUN, lambda run: " " * len(run[0]), text)
    spaced = f" {spaced_words(text)} "
    if not vocabulary.keeps_beginnings:
        return {word.start() - 1: word[0] for word in re.finditer("[^ ]+", spaced)}
    found = {}
    small = spaced.replace("I", "i")
    find = small.find
    for beginning in set(map(beginning_of, lexemes)):
        if beginning is not None:
            at = find(" " + beginning)
            while at >= 0:
                end = find(" ", at + 1)
                found[at] = spaced[at + 1 : end]
                at = find(" " + beginning, end)
    for letter in _other_letters(spaced):
        at = spaced.find(letter)
        while at >= 0:
            end = find(" ", at)
            at = spaced.rfind(" ", 0, at)
            found[at] = spaced[at + 1 : end]
            at = spaced.find(letter, end)
    return found


def read_query(query: str) -> tuple[str, list[list[str]]]:
    """Return what a query looks for, without exclusions, and the words of its phrases."""
    # without operators there is nothing to parse
    if '"' not in query and "-" not in query and "or" not in query.lower().split():
        return query, []
    parsed = query_groups(query)
    phrases = [phrase for group in parsed["groups"] for phrase in group["phrases"]]
    return parsed["words"], [spaced_words(indexable_text(one)).split() for one in phrases]


class Marker:
    """Finds lexemes and phrases in texts; a vocabulary knows their words."""

    def __init__(
        self, lexemes: Iterable[str], phrases: Sequence[Sequence[str]], vocabulary: Vocabulary
    ) -> None:
        self.known = vocabulary.lexemes
        self.numbers = {lexeme: number for number, lexeme in enumerate(lexemes)}
        self.pairs = {
            lexeme: number
            for lexeme, number in self.numbers.items()
            if may_have_runs(lexeme) and re.fullmatch(RUN, lexeme)
        }
        # Hosts, versions and decimals stand as they are.
        self.literals = {
            lexeme: number
            for lexeme, number in self.numbers.items()
            if not lexeme.isalnum() and " " in spaced_words(lexeme)
        }
        numbered = (
            [number for word in phrase if (number := self._number(word)) is not None]
            for phrase in phrases
        )
        self.phrases = [phrase for phrase in numbered if len(phrase) > 1]

    def _number(self, word: str) -> int | None:
        """Return which lexeme of the query a word has."""
        for lexeme in self.known.get(word, ()):
            if lexeme in self.numbers:
                return self.numbers[lexeme]
        return None

    def hits(self, text: str, words: Mapping[int, str]) -> list[Hit]:
        """Return which of the words match, and pairs of syllables, in order."""
        numbers = {word: self._number(word) for word in set(words.values())}
        hits = [
            (at, at + len(word), number)
            for at, word in words.items()
            if (number := numbers[word]) is not None
        ]
        if self.pairs and may_have_runs(text):
            hits += self._pair_hits(text)
        for literal, number in self.literals.items():
            places = re.finditer(rf"(?i)\b{re.escape(literal)}\b", text)
            hits += [(*place.span(), number) for place in places]
        return sorted(set(hits))

    def _pair_hits(self, text: str) -> list[Hit]:
        """Return where wanted pairs of syllables stand; a run of one syllable is no pair."""
        hits = []
        for run in re.finditer(RUN, text):
            if not any(pair in run[0] for pair in self.pairs):
                continue
            starts = [run.start() + one.start() for one in re.finditer(SYLLABLE, run[0])]
            for start, end in zip(starts, [*starts[2:], run.end()], strict=False):
                if (pair := text[start:end]) in self.pairs:
                    hits.append((start, end, self.pairs[pair]))
        return hits

    def phrase_hits(self, text: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return where phrases stand whole: numbers are theirs. Stop words may be between."""
        found = []
        for phrase, numbers in enumerate(self.phrases):
            for place in range(len(hits) - len(numbers) + 1):
                part = hits[place : place + len(numbers)]
                if [number for _, _, number in part] == numbers and all(
                    self._are_next(text[end:start]) for (_, end, _), (start, _, _) in pairwise(part)
                ):
                    found.append((part[0][0], part[-1][1], phrase))
        return found

    def _are_next(self, between: str) -> bool:
        """Tell whether nothing but stop words of the query is between two words."""
        return all(self.known.get(word) == () for word in spaced_words(between).split())
