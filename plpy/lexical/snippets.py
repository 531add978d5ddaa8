"""The best part of each passage as HTML, words of its query marked."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pgblend.plpy.base.session import Database
from pgblend.plpy.lexical.configuration import (
    Meaning,
    Vocabulary,
    beginning_of,
    folded,
    look_up,
    open_vocabulary,
    read_meaning,
)
from pgblend.plpy.lexical.forms import beyond_ascii, places_of
from pgblend.plpy.lexical.placed import LookedFor, PlacedPage
from pgblend.plpy.lexical.query import has_operators, query_groups
from pgblend.plpy.lexical.words import CHARACTER, RUN, SYLLABLE, has_runs, indexable_text

# Where the words of a query stand in a text.

Hit = tuple[int, int, int]
"""Where a word starts and ends in a text, and which of the words looked for it is."""

# Of ASCII all but letters and digits are blanks. Capitals are small but for I, which is no
# capital i in Turkish: the parser knows.
_SIGNS = bytes([*range(48), *range(58, 65), *range(91, 97), *range(123, 128)])
_BLANKS = bytes.maketrans(
    _SIGNS + b"ABCDEFGHJKLMNOPQRSTUVWXYZ", b" " * len(_SIGNS) + b"abcdefghjklmnopqrstuvwxyz"
)
# What may be of no word: signs, and raised and circled numbers. The marks of Hindi within words,
# which are many, are none.
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
    if has_runs(text):
        text = re.sub(RUN, lambda run: " " * len(run[0]), text)
    return f" {spaced_words(text)} "


Places = Mapping[str, Sequence[int]]
"""Words and where each begins; nowhere is where that is not known."""


def words_like(page: str, vocabulary: Vocabulary, beginnings: Iterable[str]) -> Places:
    """Return the words of a spaced page that may have a lexeme with one of some beginnings."""
    if not vocabulary.keeps_ascii:
        return dict.fromkeys(page.split(), ())
    words: dict[str, list[int]] = {}
    find = folded(page).find
    last = "\0"
    for beginning in sorted(set(beginnings)):
        if beginning.startswith(last):  # these are found
            continue
        last = beginning
        sought = " " + beginning
        at = find(sought)
        while at >= 0:
            end = find(" ", at + 1)
            word = page[at + 1 : end]
            if word in words:
                words[word].append(at)
            else:
                words[word] = [at]
            at = find(sought, end)
    # the small form of a capital i with a dot may be two letters
    if not page.isascii() and (not vocabulary.keeps_all or "\u0130" in page):
        others = (word for word in set(page.split()) if not word.isascii())
        return {**dict.fromkeys(others, ()), **words}
    return words


def looked_for(
    page: str, beginnings: Mapping[str, str], vocabulary: Vocabulary
) -> LookedFor | None:
    """Return what changed words of a page have to have; None where that cannot be told.

    `beginnings` are those of the lexemes.
    """
    if not (vocabulary.keeps_ascii if page.isascii() else vocabulary.keeps_all):
        return None
    words, numbers = set(), set()
    for lexeme, beginning in beginnings.items():
        digits = () if lexeme.isalpha() else re.findall(r"\d+", lexeme)
        if digits:
            numbers.add(max(digits, key=len))
        else:
            words.add(beginning)
    return LookedFor(words, numbers)


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
            if has_runs(lexeme) and re.fullmatch(RUN, lexeme)
        }
        # Hosts, versions, decimals and pictures stand as they are.
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

    def hits(self, text: str, page: str, words: Places) -> list[Hit]:
        """Return where a text has words and pairs of syllables that match, in order.

        `page` is the text spaced, `words` are those of it to look for.
        """
        matching: set[str] = set().union(*(self.forms.get(lexeme, ()) for lexeme in self.numbers))
        hits = []
        for word in matching & words.keys():
            number = self._number(word)
            if number is not None:
                begins = words[word] or places_of(f" {word} ", page)
                hits += [(at, at + len(word), number) for at in begins]
        if self.pairs and has_runs(text):
            hits += self._pair_hits(text)
        for literal, number in self.literals.items():
            if not all(part in page for part in re.findall("[0-9]+", literal)):
                continue
            # A form has blanks for dots that part letters.
            pattern = re.escape(literal).replace(r"\.", "[. ]")
            edge = "" if re.match(r"\W", literal) else r"\b"
            places = re.finditer(rf"(?i){edge}{pattern}{edge}", text)
            hits += [(*place.span(), number) for place in places]
        return sorted(set(hits))

    def part_hits(self, parts: Mapping[tuple[int, int], str]) -> Iterator[Hit]:
        """Give the parts of words, by where they stand, that match."""
        for (begin, end), word in parts.items():
            number = self._number(word)
            if number is not None:
                yield begin, end, number

    def _pair_hits(self, text: str) -> list[Hit]:
        """Return where wanted pairs of syllables stand, and single ones."""
        hits = []
        for run in re.finditer(RUN, text):
            whole = run[0].replace("\n", "")
            if not any(pair in whole for pair in self.pairs):
                continue
            parts = list(re.compile(SYLLABLE).finditer(text, *run.span()))
            for first, last in (*zip(parts, parts, strict=True), *pairwise(parts)):
                pair = first[0] if first is last else first[0] + last[0]
                if pair in self.pairs:
                    hits.append((first.start(), last.end(), self.pairs[pair]))
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


# Which part of a passage to show: the window with most of what was looked for.

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
    every = len({word for _, _, word in hits})
    end = 0
    for start, _, word in hits:
        while end < len(hits) and hits[end][1] - start <= most:
            counts[hits[end][2]] = counts.get(hits[end][2], 0) + 1
            end += 1
        if len(counts) > best[0] or (phrases and len(counts) == best[0]):
            last = hits[end - 1][1]
            whole = {phrase for begin, stop, phrase in phrases if start <= begin and stop <= last}
            if (len(counts), len(whole)) > best:
                best = (len(counts), len(whole))
                span = (start, last)
            if len(counts) == every and not phrases:
                break  # no other has more
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


MOST = 250
"""Characters of a snippet, without its marks."""

_SEAM = "\n"
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"))
_OPEN, _CLOSE = "\0(", "\0)"  # no text of the server has a zero


class Sought(NamedTuple):
    """What a passage was found by: a query, and lexemes that the fuzzy arm took for its words.

    `meaning` is that of the query in the passage's configuration, where that is known.
    """

    query: str | None
    corrections: tuple[str, ...] = ()
    meaning: Meaning | None = None


def page_snippets(
    db: Database,
    contents: Sequence[str],
    sought: Sequence[Sought],
    config_names: Sequence[str],
) -> list[str]:
    """Return the snippets of passages, each with what it was found by and its configuration.

    A snippet is the part of a passage, at most 250 characters of it, with most different words of
    the query. Each word is within <mark>; & < > " are entities. Without any it is the beginning.
    """
    asked = list(zip(sought, config_names, strict=True))
    snippets = [""] * len(asked)
    for one in set(asked):
        places = [place for place, other in enumerate(asked) if other == one]
        texts = [contents[place].strip() for place in places]
        for place, snippet in zip(places, _snippets(db, texts, *one), strict=True):
            snippets[place] = snippet
    return snippets


def _snippets(
    db: Database, texts: Sequence[str], sought: Sought, config_name: str
) -> Iterator[str]:
    """Give the snippets of passages with the same query and configuration.

    They are looked through as one text.
    """
    page = _SEAM.join(texts)
    hits: Sequence[Hit] = []
    whole: Sequence[Hit] = []
    words, phrases = read_query(sought.query or "", config_name)
    meaning = sought.meaning or read_meaning(db, config_name, words)
    if lexemes := dict.fromkeys([*meaning.lexemes, *sought.corrections]):
        vocabulary = open_vocabulary(db, config_name, meaning.version)
        beginnings = {lexeme: beginning_of(lexeme) for lexeme in lexemes}
        begins = tuple(beginnings.values())
        wanted = looked_for(page, beginnings, vocabulary)
        form = PlacedPage(page, config_name, wanted, parts_apart=not phrases)
        spaced = spaced_page(form.text)
        found = words_like(spaced, vocabulary, begins)
        parts = {place: spaced_words(page[slice(*place)]) for place in form.parts}
        parts = {at: word for at, word in parts.items() if folded(word).startswith(begins)}
        look_up(db, config_name, vocabulary, {*found, *parts.values()}.union(*phrases))
        marker = Marker(lexemes, phrases, vocabulary)
        of_form = marker.hits(form.text, spaced, found)
        whole = form.in_page(marker.phrase_hits(form.text, of_form))
        hits = form.in_page(of_form)
        if parts:
            hits = sorted({*hits, *marker.part_hits(parts)})
    start = first = 0
    for text in texts:
        end = start + len(text)
        last = bisect_left(hits, (end,), first)
        own = hits[first:last]
        span = start, start
        if len(text) > MOST:
            if own:
                span = best_span(own, whole, MOST)
            begin, stop = cut_window(text, span[0] - start, span[1] - start, MOST)
            yield _html(page, start + begin, start + stop, own)
        else:
            yield _html(page, start, end, own)
        start, first = end + len(_SEAM), last


def _html(text: str, begin: int, end: int, hits: Sequence[Hit]) -> str:
    """Return text[begin:end] as HTML with the hits in it marked, touching ones as one."""
    parts: list[str] = []
    at = begin
    for start, stop, _ in hits:
        if begin <= start and stop <= end:
            if start > at or not parts:
                parts += text[at:start], _OPEN, text[start:stop], _CLOSE
            else:  # pairs of syllables may overlap
                parts[-2] += text[at:stop]
            at = max(at, stop)
    shown = "".join([*parts, text[at:end]])
    for sign, entity in _ENTITIES:
        if sign in shown:
            shown = shown.replace(sign, entity)
    return shown.replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>")
