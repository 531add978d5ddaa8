"""Where the characters of a text's form stand in the text itself."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from pgblend.plpy.lexical.configuration import folded
from pgblend.plpy.lexical.forms import (
    APART,
    APART_BY,
    COMMAND,
    CONTROL,
    GROUP_BLANK,
    IGNORABLE,
    LONE_RETURN,
    VERSION_SIGN,
    Spelling,
    as_dashes,
    changes,
    grouped,
    grouped_digits,
    humps,
    inner_parts,
    is_dotless,
    is_own_form,
    kinds_of,
    normal,
    odd_signs,
    places_of,
    shown,
    small_form,
    unicode_form,
    with_inner_blanks,
    with_units,
)

# What compatibility forms may change: other characters than ASCII, and what a mark follows.
_RUN = r"[\x00-\x7f]?[^\x00-\x7f]+"
Pieces = Iterable[tuple[int, str]]
"""How many characters of a match become which."""


Hit = tuple[int, int, int]  # where it begins and ends, and which of the words it is


class Form(NamedTuple):
    """A text's form, and where each character of it begins and ends in the text."""

    text: str
    begins: Sequence[int]
    ends: Sequence[int]

    def changed(self, pattern: str, pieces: Callable[[str], Pieces]) -> "Form":
        """Return the form with what is found of a pattern replaced, piece by piece."""
        parts: list[str] = []
        begins: list[int] = []
        ends: list[int] = []
        last = 0
        for match in re.finditer(pattern, self.text):
            parts.append(self.text[last : match.start()])
            begins += self.begins[last : match.start()]
            ends += self.ends[last : match.start()]
            last = match.start()
            for length, new in pieces(match[0]):
                parts.append(new)
                if new:
                    begins += [self.begins[last]] * len(new)
                    ends += [self.ends[last + length - 1]] * len(new)
                last += length
        parts.append(self.text[last:])
        return Form("".join(parts), [*begins, *self.begins[last:]], [*ends, *self.ends[last:]])

    def at(self, places: Sequence[int]) -> "Form":
        """Return the form with the characters at some places alone."""
        begins, ends = ([of[place] for place in places] for of in (self.begins, self.ends))
        return Form("".join(self.text[place] for place in places), begins, ends)

    def composed(self) -> "Form":
        """Return the compatibility form: sign by sign where that is all, else with their marks."""
        whole = normal(self.text)
        odd = [one for one in set(self.text) if normal(one) != one]
        if odd:
            form = self.changed(r"[^\x00-\x7f]", lambda one: [(1, normal(one))])
            if form.text == whole:
                return form
        return self.changed(_RUN, _composed)

    def spelt(self, spellings: Iterable[Spelling]) -> "Form":
        """Return the form with numbers and units in their one form (forms.py)."""
        begins: list[int] = []
        ends: list[int] = []
        parts: list[str] = []
        last = 0
        for begin, end, new, of_new in spellings:
            begins += self.begins[last:begin]
            ends += self.ends[last:begin]
            begins += [self.begins[one] for one in of_new]
            ends += [self.ends[one] for one in of_new]
            parts += self.text[last:begin], new
            last = end
        if not parts:
            return self
        parts.append(self.text[last:])
        return Form("".join(parts), [*begins, *self.begins[last:]], [*ends, *self.ends[last:]])

    def with_parts(self) -> "Form":
        """Return the form with the parts of names after these (humps)."""
        begins: list[int] = []
        ends: list[int] = []
        parts: list[str] = []
        last = 0
        for _, end, found in humps(self.text):
            begins += self.begins[last:end]
            ends += self.ends[last:end]
            parts.append(self.text[last:end])
            for one, other in found:  # a blank stands where what follows does
                begins += self.begins[one], *self.begins[one:other]
                ends += self.ends[one], *self.ends[one:other]
                parts += " ", self.text[one:other]
            last = end
        if not parts:
            return self
        parts.append(self.text[last:])
        return Form("".join(parts), [*begins, *self.begins[last:]], [*ends, *self.ends[last:]])


def placed_form(text: str, config: str) -> Form:
    """Return the form of a text (word_form) with where its characters stand."""
    form = Form(text, range(len(text)), range(1, len(text) + 1))
    if not text.isascii() and re.search(GROUP_BLANK, text):
        form = form.changed(GROUP_BLANK, _nothing)
    if unicode_form(form.text) != form.text:
        form = _unicode_form(form)
    form = form._replace(text=with_inner_blanks(form.text))
    if b"0" in kinds_of(form.text):
        if re.search(VERSION_SIGN, form.text):
            form = form.changed(VERSION_SIGN, _nothing)
        form = form.spelt(grouped(form.text, config))
        form = form.spelt(with_units(form.text))
    form = form.with_parts()
    return form._replace(text=small_form(form.text, config))


def _unicode_form(form: Form) -> Form:
    """Return what unicode_form makes of a form, with its places."""
    text = form.text
    if "\r" in text:
        form = form._replace(text=re.sub(LONE_RETURN, "\n", text))
    if re.search(CONTROL, text):
        form = form.changed(COMMAND, _nothing)
        if "\b" in form.text:
            form = form.at(shown(form.text))
        form = form.changed(CONTROL, lambda one: [(1, APART_BY.get(one, ""))])
    if not text.isascii():
        form = form.changed(IGNORABLE, _nothing)
        if not unicodedata.is_normalized("NFKC", form.text):
            form = form.changed(APART, _apart).composed()
        form = form._replace(text=as_dashes(form.text))
    return form


class LookedFor(NamedTuple):
    """How words begin that are looked for, and digits side by side of those that have any."""

    beginnings: Collection[str]
    numbers: Collection[str]


class PlacedPage:
    """The form of a page of texts, which lines part: `text`, and where its words stand on the page.

    What may not be its own form, which is little, is brought into its form as one text. It may be
    told what is looked for. Words with parts and numbers that have nothing of it are then left as
    they are. So are dots, which are blanks in the page as it stands as well. Where no order counts
    (`parts_apart`), `parts` has where parts of words stand that have no other form.
    """

    def __init__(
        self,
        page: str,
        config: str,
        looked_for: LookedFor | None = None,
        parts_apart: bool = False,
    ) -> None:
        self.text = page
        self.parts: list[tuple[int, int]] = []
        self.starts: list[int] = []  # of what is as on the page and of changed pieces, in turn
        self.shifts: list[int] = []  # from there to the page, of pieces to their form
        self.moves: list[int] = []  # of each piece from where its form stands to the page
        pieces = changed_pieces(page, config, looked_for)
        if parts_apart and looked_for is not None and not is_dotless(config):
            pieces = [one for one in pieces if not self._takes_parts(page, *one)]
        if not pieces:
            return
        self.form = placed_form("\n".join([page[begin:end] for begin, end in pieces]), config)
        forms = self.form.text.split("\n") if len(pieces) > 1 else [self.form.text]
        parts: list[str] = []
        last = at = of_form = of_pieces = 0
        for (begin, end), new in zip(pieces, forms, strict=True):
            start = at + begin - last
            self.starts += at, start
            self.shifts += last - at, of_form - start
            self.moves.append(begin - of_pieces)
            parts += page[last:begin], new
            last, at = end, start + len(new)
            of_form += len(new) + 1
            of_pieces += end - begin + 1
        self.text = "".join([*parts, page[last:]])
        self.starts += at, len(self.text)
        self.shifts.append(last - at)

    def _takes_parts(self, page: str, begin: int, end: int) -> bool:
        """Note the parts of a piece's words; tell whether its form has nothing else new."""
        piece = page[begin:end]
        if not piece.isascii() or re.search("[0-9]", piece):
            return False
        for _, _, found in humps(piece):
            self.parts += ((begin + one, begin + other) for one, other in found)
        return True

    def in_page(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return where hits in the form stand on the page, in order."""
        if not self.starts:
            return hits
        found = set()
        for begin, end, one in hits:
            which = bisect_right(self.starts, begin) - 1
            if which % 2 == 0 and end <= self.starts[which + 1]:
                shift = self.shifts[which]
                found.add((begin + shift, end + shift, one))
            else:
                found.add((self._place(begin)[0], self._place(end - 1)[1], one))
        return sorted(found)

    def _place(self, at: int) -> tuple[int, int]:
        """Return where a character of the form begins and ends on the page."""
        which = bisect_right(self.starts, at) - 1
        at += self.shifts[which]
        if which % 2 == 0:
            return at, at + 1
        move = self.moves[which // 2]
        return self.form.begins[at] + move, self.form.ends[at] + move


MOST_PIECES = 300


def changed_pieces(page: str, config: str, looked_for: LookedFor | None) -> list[tuple[int, int]]:
    """Return where pieces of a page begin and end, in order, that may not be their own form.

    Blanks and lines part them, but for blanks after numbers (10 GB, ½ cm): no form looks beyond.
    Where there are many, or a terminal's commands, all is one piece.
    """
    kinds = kinds_of(page)
    if b"\0" in kinds and re.search(CONTROL, page):
        return [(0, len(page))]
    parts: set[int] = set()
    if looked_for is None:
        places = [*changes(page, kinds, config)]
    else:
        parts.update(_parts_like(page, kinds, looked_for.beginnings))
        places = [*parts, *_numbers_like(page, kinds, looked_for.numbers)]
    for sign in odd_signs(page):
        places += (one.start() for one in re.finditer(sign, page))
    if len(places) > MOST_PIECES:
        return [(0, len(page))]
    pieces: list[tuple[int, int]] = []
    last = 0
    for at in sorted(places):
        if at >= last:
            begin, last = _around(page, at, last)
            if at in parts or not _is_own_form(page[begin:last], config):
                pieces.append((begin, last))
    return pieces


_is_own_form = lru_cache(maxsize=2000)(is_own_form)


def _around(page: str, at: int, least: int) -> tuple[int, int]:
    """Return where the piece around a place begins, not before `least`, and ends."""
    end = at
    while end < len(page) and not _parts(page, end):
        blank = page.find(" ", end + 1)
        line = page.find("\n", end + 1, blank if blank >= 0 else len(page))
        end = line if line >= 0 else blank if blank >= 0 else len(page)
    begin, before = least, at
    while before > least:
        blank = page.rfind(" ", least, before)
        before = max(blank, page.rfind("\n", max(blank, least), before))
        if before >= 0 and _parts(page, before):
            begin = before + 1
            break
    return begin, end


def _parts(page: str, at: int) -> bool:
    """Tell whether a character parts pieces."""
    return page[at] == "\n" or (page[at] == " " and not page[at - 1 : at].isnumeric())


def _parts_like(page: str, kinds: bytes, beginnings: Collection[str]) -> Iterator[int]:
    """Give where words with parts begin, of those that have a part with one of some beginnings."""
    page = page.replace("\n", " ") + " "
    words = {(page.rfind(" ", 0, at) + 1, page.find(" ", at)) for at in inner_parts(page, kinds)}
    every = folded(" ".join([page[begin:end] for begin, end in words]))
    if there := [one for one in beginnings if one in every]:  # few are
        for begin, end in words:
            word = page[begin:end]
            small = folded(word)
            for one in there:
                if one in small and any(_is_head(word, at) for at in places_of(one, small)):
                    yield begin
                    break


def _is_head(word: str, at: int) -> bool:
    """Tell whether a part may begin at a place of a word: with a capital, or after no letter."""
    return at == 0 or word[at].isupper() or not word[at - 1].isalpha()


def _numbers_like(page: str, kinds: bytes, numbers: Collection[str]) -> Iterator[int]:
    """Give where a number stands that has all digits of one looked for side by side, or in groups.

    Digits of a longer number are not meant.
    """
    for number in numbers:
        for at in places_of(number, page):
            if b"0" not in (kinds[at - 1 : at], kinds[at + len(number) :][:1]):
                yield at
    if any(len(number) > 1 for number in numbers):
        for at in grouped_digits(kinds):
            if any(page[at - 1] + page[at + 1] in number for number in numbers):
                yield at


def _nothing(found: str) -> Pieces:
    return [(len(found), "")]


def _apart(found: str) -> Pieces:
    return [(len(found), f" {found} ")]


def _composed(run: str) -> Pieces:
    """Return the signs of a run in compatibility form, a letter with its marks where they join."""
    clusters: list[str] = []
    for one in run:
        if clusters and _goes_on(one):
            clusters[-1] += one
        else:
            clusters.append(one)
    pieces: list[tuple[int, str]] = []
    for cluster in clusters:
        whole, signs = normal(cluster), list(map(normal, cluster))
        if "".join(signs) == whole:
            pieces += [(1, sign) for sign in signs]
        else:
            pieces.append((len(cluster), whole))
    return pieces


def _goes_on(one: str) -> bool:
    """Tell whether a character may be composed with the one before."""
    is_jamo = "\u1160" <= one <= "\u11ff"
    return is_jamo or one in "\uff9e\uff9f" or unicodedata.category(one)[0] == "M"
