"""The best part of each passage as HTML, words of its query marked."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.text.query import query_groups
from pgblend.plpy.text.words import join_bigrams, spaced_bigrams

_START, _STOP = "\ue000", "\ue001"
_STAND_INS = {"<": "\ue002", ">": "\ue003", "/": "\ue004", "\\": "\ue005", "-": "\ue006"}
_TAKEN_OUT = dict.fromkeys([_START, _STOP, *_STAND_INS.values(), "\x1e", "\x1f"], "")
_WRITTEN = {
    **{"&": "&amp;", '"': "&quot;", _START: "<mark>", _STOP: "</mark>"},
    **{stand_in: sign for sign, stand_in in _STAND_INS.items()},
    **{_STAND_INS["<"]: "&lt;", _STAND_INS[">"]: "&gt;"},
}
_BLANKS = str.maketrans(dict.fromkeys(_STAND_INS, " "))
_PIECE = 250  # characters; a word of 2047 bytes, the longest of a tsvector, fills one whole
_ANY_OF = " ".join(
    [
        r"(SELECT string_agg('''' || replace(replace(l, '\', '\\'), '''', '''''') || '''', ' | ')",
        "FROM unnest(tsvector_to_array(to_tsvector(t.oid::regconfig, $1))) AS l)::tsquery",
    ]
)
_MARK = " ".join(
    [
        "SELECT array_agg(ts_headline(c.config, u.content, c.any_of, $4) ORDER BY u.place)",
        f"AS marked FROM (SELECT t.oid::regconfig AS config, {_ANY_OF} AS any_of",
        "FROM pg_catalog.pg_ts_config AS t",
        "WHERE t.cfgname = $2 AND pg_ts_config_is_visible(t.oid) OFFSET 0) AS c",
        "CROSS JOIN unnest($3) WITH ORDINALITY AS u (content, place)",
    ]
)
_MARK_TYPES = ["text", "text", "text[]", "text"]


def page_snippets(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    contents: Sequence[str],
    queries: Sequence[str | None],
    config_names: Sequence[str],
) -> list[str]:
    """Return the snippets of passages, each with its query and text search configuration.

    A query without lexemes gives the beginning. Until all is escaped, private-use characters stand
    for the marks and for < > / \\ -, which the parser must not see (as in _indexable_text). The
    text's own are taken out first. Passages without word spaces are marked as pairs and joined
    again. `run` executes (statement, types, *values).
    """
    own = [_replaced(content, _TAKEN_OUT) for content in contents]
    plain = [_replaced(text, _STAND_INS) for text in own]
    indexed = [
        stood_in if text.isascii() else spaced_bigrams(stood_in)
        for text, stood_in in zip(own, plain, strict=True)
    ]
    in_pairs = [one != other for one, other in zip(plain, indexed, strict=True)]
    asked = list(zip(queries, config_names, in_pairs, strict=True))
    marked: list[str | None] = [None] * len(asked)
    for one in set(asked):
        places = [place for place, other in enumerate(asked) if other == one]
        found = _marked(run, one, [indexed[place] for place in places])
        for place, text in zip(places, found, strict=False):
            marked[place] = text
    return [
        _replaced(_snippet(text, pairs, passage), _WRITTEN)
        for text, pairs, passage in zip(marked, in_pairs, plain, strict=True)
    ]


def _marked(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    asked: tuple[str | None, str, bool],
    passages: Sequence[str],
) -> Sequence[str | None]:
    """Return the best parts of passages with the same query; none without the configuration."""
    query, config_name, pairs = asked
    length = "MaxWords=100, MinWords=50" if pairs else "MaxWords=40, MinWords=20"
    options = f"StartSel={_START}, StopSel={_STOP}, MaxFragments=0, {length}"
    words = _indexable(_words_of(query or ""))
    cut = [_cut_words(text) for text in passages]
    rows = run(_MARK, _MARK_TYPES, _cut_words(words), config_name, cut, options)
    return rows[0]["marked"] or []


def _replaced(text: str, signs: Mapping[str, str]) -> str:
    """Replace signs one after the other: str.translate takes a hundred times as long."""
    for sign, other in signs.items():
        text = text.replace(sign, other)
    return text


def _cut_words(text: str) -> str:
    """Cut words that are too long to be indexed, of which PostgreSQL raises a NOTICE."""
    pieces = range(0, len(text) - _PIECE + 1, _PIECE)
    if all(" " in text[at : at + _PIECE] for at in pieces):
        return text
    return re.sub(rf"(\S{{{2 * _PIECE}}})\S+", r"\1", text)


def _words_of(query: str) -> str:
    """Return the words of a query; without operators there is nothing to parse."""
    if not {'"', "-"}.isdisjoint(query) or "or" in query.lower().split():
        words: str = query_groups(query)["words"]
        return words
    return query


def _indexable(words: str) -> str:
    """Return words as _indexable_text does; only other than ASCII may lack spaces between words."""
    words = words.translate(_BLANKS)
    return words if words.isascii() else spaced_bigrams(words)


def _snippet(marked: str | None, in_pairs: bool, passage: str) -> str:
    if marked is not None:
        return join_bigrams(marked, _START, _STOP) if in_pairs else marked
    if in_pairs:
        return passage.strip(" ")[:100]
    return " ".join(re.split(r"\s+", passage.strip(" "))[:40])
