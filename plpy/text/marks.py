"""Where the words of a query stand in a text."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pgblend.plpy.text.forms import beyond_ascii
from pgblend.plpy.text.query import has_operators, query_groups
from pgblend.plpy.text.vocabulary import Vocabulary, beginning_of, folded
from pgblend.plpy.text.words import RUN, SYLLABLE, indexable_text, may_have_runs

Hit = tuple[int, int, int]
"""Where a word starts and ends in a text, and which of the words looked for it is."""

# Of ASCII all but letters and digits are blanks. Capitals are small but for I, which is no
# capital i in Turkish: the parser knows.
_SIGNS = bytes([*range(48), *range(58, 65), *range(91, 97), *range(123, 128)])
_BLANKS = bytes.maketrans(
    _SIGNS + b"ABCDEFGHJKLMNOPQRSTUVWXYZ", b" " * len(_SIGNS) + b"abcdefghjklmnopqrstuvwxyz"
)
# What may be of no word: signs, but not the marks that Hindi has within words, which are many,
# and raised and circled numbers.
_SIGN = r"[^\w\u0300-\u036f\u0900-\u0963]"
_NUMBER = r"[\xb2\xb3\xb9\xbc-\xbe\u2070-\u2189\u2460-\u2793]"


def spaced_words(text: str) -> str:
    """Return a text, as long and small, with a blank for each character that is of no word."""
    if not text.isascii():
        others = beyond_ascii(text)
        for sign in {*re.findall(_SIGN, others), *re.findall(_NUMBER, others)}:
            if not f"a{sign}".isidentifier():  # else it is a letter, or a mark of the one before
                text = text.replace(sign, " ")
    return text.encode().translate(_BLANKS).decode()


def spaced_page(text: str) -> str:
    """Return the spaced words of a text between blanks, scripts without word spaces left out."""
    if may_have_runs(text):
        text = re.sub(RUN, lambda run: " " * len(run[0]), text)
    return f" {spaced_words(text)} "


def words_like(page: str, vocabulary: Vocabulary, lexemes: Iterable[str]) -> set[str]:
    """Return the words of a spaced page that may have one of some lexemes."""
    if not vocabulary.keeps_ascii:
        return set(page.split())
    words: set[str] = set()
    # the small form of a capital i with a dot may be two letters
    if not page.isascii() and (not vocabulary.keeps_all or "\u0130" in page):
        words = {word for word in set(page.split()) if not word.isascii()}
    small = folded(page)
    find = small.find
    for beginning in set(map(beginning_of, lexemes)):
        at = find(" " + beginning)
        while at >= 0:
            end = find(" ", at + 1)
            words.add(page[at + 1 : end])
            at = find(" " + beginning, end)
    return words


def read_query(query: str, config: str) -> tuple[str, list[list[str]]]:
    """Return what a query looks for, without exclusions, and the words of its phrases."""
    if not has_operators(query):  # there is nothing to parse
        return query, []
    parsed = query_groups(query)
    phrases = [phrase for group in parsed["groups"] for phrase in group["phrases"]]
    texts = (indexable_text(one, config) for one in phrases)
    return parsed["words"], [spaced_words(text).split() for text in texts]


class Marker:
    """Finds lexemes and phrases in texts; a vocabulary knows their words."""

    def __init__(
        self, lexemes: Iterable[str], phrases: Sequence[Sequence[str]], vocabulary: Vocabulary
    ) -> None:
        self.known, self.forms = vocabulary.lexemes, vocabulary.words
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

    def hits(self, text: str, page: str, words: set[str]) -> list[Hit]:
        """Return where a text has words and pairs of syllables that match, in order.

        `page` is the text spaced, `words` are those of it to look for.
        """
        matching: set[str] = set().union(*(self.forms.get(lexeme, ()) for lexeme in self.numbers))
        hits = []
        for word in matching & words:
            number = self._number(word)
            at = page.find(f" {word} ")
            while at >= 0 and number is not None:
                hits.append((at, at + len(word), number))
                at = page.find(f" {word} ", at + 1)
        if self.pairs and may_have_runs(text):
            hits += self._pair_hits(text)
        for literal, number in self.literals.items():
            places = re.finditer(rf"(?i)\b{re.escape(literal)}\b", text)
            hits += [(*place.span(), number) for place in places]
        return sorted(set(hits))

    def _pair_hits(self, text: str) -> list[Hit]:
        """Return where wanted pairs of syllables stand, and single ones."""
        hits = []
        for run in re.finditer(RUN, text):
            if not any(pair in run[0] for pair in self.pairs):
                continue
            starts = [run.start() + one.start() for one in re.finditer(SYLLABLE, run[0])]
            ends = [*starts[1:], run.end()]
            pairs = zip(starts, ends[1:], strict=False)
            for start, end in (*zip(starts, ends, strict=True), *pairs):
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
