"""What the index tells of lexemes: how many chunks have them, which it knows, which are alike."""

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from pgblend.plpy.base.ports import KnownRequest, SimilarLexeme, SimilarRequest
from pgblend.plpy.base.session import Database, keep_value
from pgblend.plpy.lexical.chunk_rows import Integers, Mask
from pgblend.plpy.lexical.corrections import lexeme_costs, single_edits
from pgblend.plpy.lexical.documents import count_documents, joined_rows
from pgblend.plpy.lexical.index import IndexView, OpenIndex
from pgblend.plpy.lexical.pending import pending_postings
from pgblend.plpy.lexical.postings import END, PLACE, START, view_postings, view_spans
from pgblend.plpy.lexical.records import term_digests


def count_chunks(
    db: Database, opened: OpenIndex, terms: Sequence[int]
) -> tuple[int, int, list[int]]:
    """Return (live chunks, their total length, live chunks with each term)."""
    live, pending = opened.live, opened.pending
    n, total_length = live.n, live.total_length
    df = sealed_df(db, opened, terms)
    if pending is not None:
        chunks = len(pending.rows)
        n += chunks
        total_length += int(pending.rows.lengths.sum())
        waiting, _ = pending_postings(pending, terms, 0, chunks)
        df = [count + len(rows) for count, (rows, _) in zip(df, waiting, strict=True)]
    return n, total_length, df


FEW_TERMS = 16


def sealed_df(db: Database, opened: OpenIndex, terms: Sequence[int]) -> list[int]:
    """Return how many live chunks of the view have each term.

    Postings are read for that, since scores need them next. Of many terms, as the guesses at a word
    are, most are only counted. Where nothing is deleted, the directories tell.
    """
    view, alive = opened.view, opened.live.alive
    is_whole = opened.live.n == len(alive)
    missing = [term for term in dict.fromkeys(terms) if term not in view.postings]
    if is_whole and len(missing) > FEW_TERMS:
        df = {term: len(view.postings[term][0]) for term in terms if term in view.postings}
        spans = view_spans(db, view, missing)
        counts = np.bincount(spans[:, PLACE], spans[:, END] - spans[:, START], len(missing))
        df.update(zip(missing, counts.astype(np.intp).tolist(), strict=True))
        return [df[term] for term in terms]
    postings = view_postings(db, view, terms)
    if is_whole:
        return [len(rows) for rows, _ in postings]
    return [int(np.count_nonzero(alive[rows])) for rows, _ in postings]


def count_languages(
    db: Database,
    opened: OpenIndex,
    configs: Sequence[str],
    terms: Sequence[int],
    by_document: bool,
) -> tuple[list[int], list[int]]:
    """Return for each term (live chunks of its text search configuration, those that have it).

    `configs` has the configuration of each term; documents are counted instead where `by_document`.
    """
    totals, with_term = [0] * len(terms), [0] * len(terms)
    for config in dict.fromkeys(configs):
        places = [place for place, one in enumerate(configs) if one == config]
        found = joined_rows(db, opened, config, [terms[place] for place in places])
        if by_document:
            n, _, df = count_documents(found)
        else:
            alive = found.alive
            n, df = int(alive.sum()), [int(alive[rows].sum()) for rows, _ in found.postings]
        for place, count in zip(places, df, strict=True):
            totals[place], with_term[place] = n, count
    return totals, with_term


PLACES_A_TERM = 4


def known_terms(opened: OpenIndex, config: str, terms: Integers) -> Mask:
    """Tell which of the terms chunks of a text search configuration have.

    Sealed chunks that were deleted count until their segment is written anew.
    """
    view, pending = opened.view, opened.pending
    found = np.zeros(len(terms), np.bool_)
    if config in view.ranges:
        # Few of the guesses at a word are there: these alone are looked for, in order.
        sieve = term_sieve(view)
        places = np.flatnonzero(sieve[terms & len(sieve) - 1])
        places = places[terms[places].argsort()]
        likely = terms[places]
        first, last = view.ranges[config]
        for (directory, _), (start, _) in zip(view.directories, view.bounds, strict=True):
            if first <= start < last and len(directory):
                has = directory.take(directory.searchsorted(likely), mode="clip") == likely
                found[places[has]] = True
    if pending is not None and config in pending.ranges:
        first, last = pending.ranges[config]
        chunks = pending.ordinals
        found |= np.isin(terms, pending.terms[(chunks >= first) & (chunks < last)])
    return found


def term_sieve(view: IndexView) -> Mask:
    """Return whether a sealed term has these last bits, for a power of two of them; it is kept."""
    if view.sieve is None:
        count = PLACES_A_TERM * sum(len(terms) for terms, _ in view.directories)
        sieve = np.zeros(1 << count.bit_length(), np.bool_)
        for terms, _ in view.directories:
            sieve[terms & len(sieve) - 1] = True
        view.sieve = sieve
    return view.sieve


# BETWEEN a word and itself is = for which the trigram index, slow for that, is no way. One look
# into the index for each, analyzed or not.
_KNOWN = (
    "SELECT array_agg((SELECT true FROM pgblend_data.vocabulary AS v"
    " WHERE v.collection_id = ANY($1) AND v.text_search_config = u.config_name"
    " AND v.lexeme BETWEEN u.lexeme AND u.lexeme LIMIT 1) IS NOT NULL ORDER BY u.place) AS known"
    " FROM unnest($2, $3) WITH ORDINALITY AS u (config_name, lexeme, place)"
)
_STEMS = (
    "SELECT t.place::integer - 1 AS place, array_to_string("
    "tsvector_to_array(to_tsvector(pgblend._regconfig($1), t.text)), E'\\n') AS lexemes"
    " FROM unnest($2) WITH ORDINALITY AS t (text, place)"
)
_BEGUN = (
    "SELECT b.place, known.lexeme FROM unnest($3, $4, $5) AS b (place, start, beyond)"
    " CROSS JOIN LATERAL (SELECT v.lexeme FROM pgblend_data.vocabulary AS v"
    " WHERE v.collection_id = ANY($1) AND v.text_search_config = $2"
    " AND v.lexeme >= b.start AND v.lexeme < b.beyond"
    " AND char_length(v.lexeme) <= 2 * char_length(b.start)"
    " ORDER BY v.lexeme LIMIT 50) AS known"
)
_ALIKE = "SELECT a.lexeme, a.likeness FROM pgblend._alike_lexemes($1, $2, $3) AS a"
LEAST_BEGUN = 4
MOST_WORDS = 200


def known_lexemes(db: Database, request: KnownRequest) -> Sequence[bool]:
    """Tell of each lexeme whether the vocabulary has it; a word of deleted chunks is known."""
    types = ["bigint[]", "text[]", "text[]"]
    values = [request.collection_ids, request.configs, request.lexemes]
    known: Sequence[bool] | None = db.run(_KNOWN, types, *values)[0]["known"]
    return known or []


def similar_lexemes(
    db: Database, opened: OpenIndex, request: SimilarRequest
) -> list[SimilarLexeme]:
    """Return lexemes that those of the request may stand for.

    First comes whatever one edit of the word gives, stemmed, at cost 1 each. (A stemmer cuts a
    misspelt ending elsewhere than the right one.) Then come the lexemes that go on where word or
    lexeme of four letters and more end. They have an ending's cost. Where there are none of these,
    or the alphabet is another, the 50 most alike by trigrams.

    The view keeps what was found of its last words, for as long as no chunk is added.
    """
    kept, config = kept_similar(opened), request.config
    asked = list(zip(request.words, request.lexemes, strict=True))
    known = {pair: kept[config, *pair] for pair in asked if (config, *pair) in kept}
    missing = [pair for pair in dict.fromkeys(asked) if pair not in known]
    if missing:
        words, lexemes = zip(*missing, strict=True)
        found = find_similar(db, opened, request._replace(words=words, lexemes=lexemes))
        for place, pair in enumerate(missing):
            of_pair = [one for one in found if one.place == place]
            known[pair] = keep_value(kept, (config, *pair), of_pair, MOST_WORDS)
    return [one._replace(place=place) for place, pair in enumerate(asked) for one in known[pair]]


def kept_similar(opened: OpenIndex) -> dict[tuple[str, str, str], list[SimilarLexeme]]:
    """Return what the view keeps of lexemes alike, by configuration, word and lexeme."""
    view, pending = opened.view, opened.pending
    if view.similar is None or view.similar[0] is not pending:
        view.similar = pending, {}
    return view.similar[1]


def find_similar(db: Database, opened: OpenIndex, request: SimilarRequest) -> list[SimilarLexeme]:
    """Find what is not kept."""
    edits = [" ".join(single_edits(word)) for word in request.words]
    found = [*edited_lexemes(db, opened, request, edits), *begun_lexemes(db, request, edits)]
    near = {one.place for one in found}
    for place, lexeme in enumerate(request.lexemes):
        if place not in near:
            found += alike_lexemes(db, request, place, lexeme)
    return found


def edited_lexemes(
    db: Database, opened: OpenIndex, request: SimilarRequest, edits: Sequence[str]
) -> Iterator[SimilarLexeme]:
    """Find the stems of edited words by the segments' directories and the pending chunks.

    Some thousand words are looked for at once. Look-ups in the vocabulary take three times as long
    for them, and serve directories that are not kept whole.
    """
    rows = db.run(_STEMS, ["text", "text[]"], request.config, edits)
    of_rows = [row["lexemes"].encode().split(b"\n") for row in rows]
    lexemes = [lexeme for of_row in of_rows for lexeme in of_row]
    places = np.repeat([row["place"] for row in rows], [*map(len, of_rows)])
    if opened.view.every == 1:
        terms = np.frombuffer(term_digests(lexemes), ">i8").astype(np.int64)
        known: Sequence[bool] = known_terms(opened, request.config, terms).tolist()
    else:
        asked = [lexeme.decode() for lexeme in lexemes]
        configs = [request.config] * len(asked)
        known = known_lexemes(db, KnownRequest(request.collection_ids, configs, asked))
    for found in [place for place, is_known in enumerate(known) if is_known]:
        yield SimilarLexeme(int(places[found]), lexemes[found].decode(), 1.0)


def begun_lexemes(
    db: Database, request: SimilarRequest, edits: Sequence[str]
) -> Iterator[SimilarLexeme]:
    """Find the lexemes that begin as a word or its lexeme does."""
    starts = [
        (place, start)
        for place, pair in enumerate(zip(request.words, request.lexemes, strict=True))
        for start in sorted(set(pair))
        if len(start) >= LEAST_BEGUN and edits[place]
    ]
    if not starts:
        return
    rows = db.run(
        _BEGUN,
        ["bigint[]", "text", "integer[]", "text[]", "text[]"],
        request.collection_ids,
        request.config,
        [place for place, _ in starts],
        [start for _, start in starts],
        [start[:-1] + chr(ord(start[-1]) + 1) for _, start in starts],
    )
    for place, (word, lexeme) in enumerate(zip(request.words, request.lexemes, strict=True)):
        begun = [row["lexeme"] for row in rows if row["place"] == place]
        costs = lexeme_costs(word, lexeme, begun)
        for candidate, cost in zip(begun, costs, strict=True):
            if cost < inf:
                yield SimilarLexeme(place, candidate, cost)


def alike_lexemes(
    db: Database, request: SimilarRequest, place: int, lexeme: str
) -> Iterator[SimilarLexeme]:
    """Find the lexemes most alike by trigrams; a cost is infinite where it is too high."""
    types = ["bigint[]", "text", "text"]
    rows = db.run(_ALIKE, types, request.collection_ids, request.config, lexeme)
    costs = lexeme_costs(request.words[place], lexeme, [row["lexeme"] for row in rows])
    for row, cost in zip(rows, costs, strict=True):
        yield SimilarLexeme(place, row["lexeme"], cost, True, row["likeness"])
