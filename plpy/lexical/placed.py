"""Where the characters of a text's form stand in the text itself."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from pgblend.plpy.lexical.configuration import folded
from pgblend.plpy.lexical.forms import (
    APART,
    APART_BY,
    COMMAND,
    CONTROL,
    GROUP_BLANK,
    IGNORABLE,
    INNER_DOT,
    LONE_RETURN,
    VERSION_SIGN,
    Spelling,
    as_dashes,
    changes,
    grouped,
    humps,
    kinds_of,
    normal,
    odd_signs,
    shown,
    small_form,
    unicode_form,
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
    form = form._replace(text=re.sub(INNER_DOT, " ", form.text))
    if re.search(VERSION_SIGN, form.text):
        form = form.changed(VERSION_SIGN, _nothing)
    form = form.spelt(grouped(form.text, config))
    form = form.spelt(with_units(form.text)).with_parts()
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


def places_with_forms(
    texts: Sequence[str], seam: str, config: str, beginnings: Collection[str] | None = None
) -> set[int]:
    """Return which of some texts may not be their own form; few are, so all are looked at as one.

    The seam is of no word. With `beginnings`, which have no digits, only texts count that may have
    such a part within a word: dots are blanks in the text as it stands as well.
    """
    page = seam.join(texts)
    found: set[int] = set()
    if odd := odd_signs(page):
        found.update(place for place, text in enumerate(texts) if any(sign in text for sign in odd))
    ends = list(accumulate(len(text) + len(seam) for text in texts))
    if beginnings is None or b"\0" in kinds_of(page):
        places = changes(page, config)
    else:
        places = _parts_like(page, beginnings)
    return found.union(bisect_right(ends, at) for at in places)


def _parts_like(page: str, beginnings: Collection[str]) -> Iterator[int]:
    """Give where a part of a word may begin in one of some ways, itself not the whole word."""
    small = folded(page)
    for one in beginnings:
        at = small.find(one)
        while at >= 0:
            before, end = page[at - 1 : at], at + len(one)
            if before.isalnum():
                if page[at].isupper() or before.isdigit():
                    yield at
            else:
                while page[end : end + 1].isalpha():
                    end += 1
                word = page[at:end]
                is_whole = word.islower() or word.istitle() or word.isupper()
                if not is_whole or page[end : end + 1].isdigit():
                    yield at
            at = small.find(one, at + 1)


class PlacedPage:
    """The forms of texts, joined by a seam, a line's end, beyond which no form looks.

    Most texts are their own form, and go first; the others are brought into their form as one.
    With `beginnings`, words that begin otherwise may be left as they are.
    """

    def __init__(
        self,
        texts: Sequence[str],
        seam: str,
        config: str,
        beginnings: Collection[str] | None = None,
    ) -> None:
        odd = places_with_forms(texts, seam, config, beginnings)
        self.form: Form | None = None
        if not odd:
            self.text = seam.join(texts)
            return
        order = sorted(range(len(texts)), key=odd.__contains__)  # stable
        sizes = [len(text) + len(seam) for text in texts]
        places = list(accumulate(sizes, initial=0))
        self.starts = list(accumulate((sizes[one] for one in order), initial=0))
        self.shifts = [places[one] - start for one, start in zip(order, self.starts, strict=False)]
        self.begin = self.starts[len(texts) - len(odd)]
        text = seam.join([texts[one] for one in order])
        self.form = placed_form(text[self.begin :], config)
        self.text = text[: self.begin] + self.form.text

    def in_text(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return where hits in the forms stand in the joined texts, in order.

        Those that go from one text into the next are left out.
        """
        form = self.form
        if form is None:
            return hits
        begin = self.begin
        found: set[Hit] = set()
        for first, end, which in hits:
            if first >= begin:
                first, end = begin + form.begins[first - begin], begin + form.ends[end - begin - 1]
            place = bisect_right(self.starts, first) - 1
            if end < self.starts[place + 1]:
                found.add((first + self.shifts[place], end + self.shifts[place], which))
        return sorted(found)


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
