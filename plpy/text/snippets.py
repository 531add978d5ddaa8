"""The best part of each passage as HTML, words of its query marked."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pgblend.plpy.session import Database
from pgblend.plpy.text.marks import Hit, Marker, read_query, spaced_page, words_like
from pgblend.plpy.text.placed import PlacedPage
from pgblend.plpy.text.vocabulary import Meaning, look_up, open_vocabulary, read_meaning
from pgblend.plpy.text.window import best_span, cut_window

MOST = 250
"""Characters of a snippet, without its marks."""

_SEAM = "\n"
_SIGNS = '&<>"'


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
        form = PlacedPage(texts, _SEAM, config_name)
        spaced = spaced_page(form.text)
        found = words_like(spaced, vocabulary, lexemes)
        look_up(db, config_name, vocabulary, found.union(*phrases))
        marker = Marker(lexemes, phrases, vocabulary)
        of_form = marker.hits(form.text, spaced, found)
        whole = form.in_text(marker.phrase_hits(form.text, of_form))
        hits = form.in_text(of_form)
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
    shown = text[begin:end]
    escape = _escaped if any(sign in shown for sign in _SIGNS) else str
    at = begin
    for start, stop, _ in hits:
        if begin <= start and stop <= end:
            if start > at or not parts:
                parts += escape(text[at:start]), "<mark>", escape(text[start:stop]), "</mark>"
            else:  # pairs of syllables may overlap
                parts[-2] += escape(text[at:stop])
            at = max(at, stop)
    parts.append(escape(text[at:end]))
    return "".join(parts)


def _escaped(text: str) -> str:
    """Return a text with & < > " as entities."""
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return text.replace(">", "&gt;").replace('"', "&quot;")
