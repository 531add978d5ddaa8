"""The lexical port of one node: its own index, in process."""

from collections.abc import Callable, Iterable, Sequence
from itertools import starmap
from math import fsum
from time import monotonic

import numpy as np

from pgblend.plpy.base.catalog import LEXICAL_CACHE_BYTES
from pgblend.plpy.base.ports import (
    CandidateList,
    CountRequest,
    Counts,
    KnownRequest,
    ListRequest,
    Operand,
    Part,
    Sample,
    SimilarLexeme,
    SimilarRequest,
)
from pgblend.plpy.base.session import Database, Rows
from pgblend.plpy.base.unchanged import KeyList, as_key, is_unchanged, run_unchanged
from pgblend.plpy.lexical.candidate_filter import CandidateFilter, Ids, candidate_filter
from pgblend.plpy.lexical.chunk_rows import sampled
from pgblend.plpy.lexical.documents import (
    DocumentRows,
    TermWeights,
    chunks_of_documents,
    count_documents,
    joined_rows,
    score_documents,
)
from pgblend.plpy.lexical.failures import check_index
from pgblend.plpy.lexical.index import OpenIndex, open_index, session_cache
from pgblend.plpy.lexical.pending import pending_postings
from pgblend.plpy.lexical.postings import view_postings
from pgblend.plpy.lexical.query import asked_of
from pgblend.plpy.lexical.records import term_ids
from pgblend.plpy.lexical.score import (
    ID_OF,
    Hit,
    Scoring,
    chunks_with_all,
    exact_norms,
    hits_of,
    needed_phrases,
)
from pgblend.plpy.lexical.terms import parsed_words, parsing
from pgblend.plpy.lexical.vocabulary import (
    count_chunks,
    count_languages,
    known_lexemes,
    similar_lexemes,
)
from pgblend.plpy.lexical.word_list import Deadline

# The chunks that have any of some terms, or the words of phrases, whatever they score.


def matching_chunks(scoring: Scoring) -> Ids:
    """Return the chunks of the scoring's configuration that have any of its terms."""
    opened, terms, config = scoring.opened, scoring.terms, scoring.config
    view, pending = opened.view, opened.pending
    found: list[Ids] = [np.empty(0, np.int64)]
    if terms and config in view.ranges:
        start, end = view.ranges[config]
        lists = [rows for rows, _ in view_postings(scoring.db, view, terms)]
        rows = np.unique(np.concatenate(lists)).astype(np.intp)
        rows = rows[(rows >= start) & (rows < end)]
        alive = rows[opened.live.alive[rows]]
        found.append(view.rows.chunk_ids[alive].astype(np.int64))
    if terms and pending is not None and config in pending.ranges:
        postings, _ = pending_postings(pending, terms, *pending.ranges[config])
        rows = np.unique(np.concatenate([rows for rows, _ in postings])).astype(np.intp)
        found.append(pending.rows.chunk_ids[rows].astype(np.int64))
    return np.concatenate(found)


def holding_chunks(
    db: Database, collection_ids: Sequence[int], operands: Iterable[Sequence[tuple[int, str, bool]]]
) -> Ids | None:
    """Return the chunks that have the words of what binds in some language, all that hold it there.

    None where that needs no word in one of the languages, or the index may lack a collection.
    """
    alternatives = [needed_phrases([*starmap(Operand, of)]) for of in operands]
    needed = [one for one in alternatives if one]
    if len(needed) < len(alternatives):
        return None
    opened = open_index(db, collection_ids, session_cache(db).most_bytes)
    if not opened.bare <= opened.view.empty:
        return None
    return np.unique(np.concatenate([chunks_with_all(db, opened, one) for one in needed]))


_USED = """
    SELECT array_agg(DISTINCT l.text_search_config) AS configs
    FROM pgblend_data.collection_language AS l
    WHERE l.collection_id = ANY(${ids})
        AND l.text_search_config = coalesce(${language}, l.text_search_config)
"""
_TERMS = parsing(_USED.format(ids=2, language=3))
_CONFIGS = _USED.format(ids=1, language=2)
_TERMS_OF_USED = parsing("SELECT $2 AS configs")
Check = Callable[[], None]


class Node:
    """Answers from this database, under the snapshot of the statement under way."""

    def __init__(self, db: Database, cache_bytes: int = LEXICAL_CACHE_BYTES) -> None:
        self.db, self.cache_bytes = db, cache_bytes
        self._opened: dict[KeyList, OpenIndex] = {}

    def words(self, query: str, collection_ids: Sequence[int], language: str | None) -> Rows:
        """Parse a query under each configuration in use, or `language` alone."""
        asked, types = asked_of(query), ["bigint[]", "text"]
        if not is_unchanged(self.db):
            return parsed_words(self.db, _TERMS, asked, ("bigint[]", collection_ids), language)
        (row,) = run_unchanged(self.db, _CONFIGS, types, collection_ids, language, of="collections")
        used = "text[]", row["configs"]
        return parsed_words(self.db, _TERMS_OF_USED, asked, used, language)

    def check_index(self, collection_ids: Sequence[int], is_strict: bool) -> None:
        """End with PB002 where an index is missing; if strict, PB003 where nothing is stored."""
        opened = self._opened.get(as_key(collection_ids))
        bare = collection_ids if opened is None else opened.bare
        if opened is not None and opened.bare <= opened.view.empty:
            bare = ()  # chunks that came since would be pending
        check_index(self.db, collection_ids, [*bare], is_strict)
        if opened is not None:
            opened.view.empty = opened.bare

    def make_ready(self, collection_ids: Sequence[int]) -> bool:
        """Read what is new of the index; tell whether any was."""
        key = as_key(collection_ids)
        if key in self._opened:
            return False
        self._opened[key] = opened = open_index(self.db, collection_ids, self.cache_bytes)
        return opened.has_read

    def count(self, request: CountRequest) -> Counts:
        """Count what BM25 needs to know; PB009 where the time is over."""
        opened, check = self._begin(request.collection_ids, request.timeout_ms)
        terms = term_ids(request.lexemes)
        check()
        if request.by_document:
            n, length, df = count_documents(joined_rows(self.db, opened, None, terms))
        else:
            n, length, df = count_chunks(self.db, opened, terms)
        check()
        if len(set(request.configs)) <= 1:
            return Counts(n, length, df)
        of_languages = count_languages(self.db, opened, request.configs, terms, request.by_document)
        return Counts(n, length, df, *of_languages)

    def find(self, request: ListRequest) -> CandidateList:
        """Find the best candidates; PB009 where the time is over."""
        opened, check = self._begin(request.collection_ids, request.timeout_ms)
        find = self._documents if request.by_document else self._chunks
        lists = [find(opened, request, part, check) for part in request.parts]
        totals = [fsum(part.weights) * (request.formula.k1 + 1) for part in request.parts]
        perfect = [total for total, hits in zip(totals, lists, strict=True) if hits]
        best = [(*hit, place) for place, hits in enumerate(lists) for hit in hits]
        if len(lists) > 1:
            best.sort(key=lambda one: (-one[3], one[1], one[2]))
        if not best:
            return CandidateList([], [], [], [], [])
        columns = map(list, zip(*best[: request.depth], strict=True))
        ids, documents, indexes, scores, places = columns
        return CandidateList(ids, documents, indexes, scores, places, max(perfect))

    def sample(self, request: ListRequest) -> Sample:
        """Take a sample of what could be found; PB009 where the time is over."""
        opened, check = self._begin(request.collection_ids, request.timeout_ms)
        lists = []
        for part in request.parts:
            terms = term_ids(part.lexemes), part.weights
            scoring = Scoring(self.db, opened, part.config, *terms, request.formula, check)
            lists.append(matching_chunks(scoring))
            check()
        passing: list[int] = []
        taken, last = sampled(lists, request.depth)
        for part, ids in zip(request.parts, taken, strict=True):
            where = request.collection_ids, request.filter, part.condition
            checked = candidate_filter(self.db, *where)
            if checked is not None:
                ids = checked._replace(column="chunk_ids").passing(ids.tolist())
            passing += ids.tolist()
        return Sample(sum(map(len, lists)), sum(map(len, taken)), passing, last)

    def known(self, request: KnownRequest) -> Sequence[bool]:
        """Tell of each lexeme whether the vocabulary has it."""
        return known_lexemes(self.db, request)

    def similar(self, requests: Sequence[SimilarRequest]) -> Sequence[Sequence[SimilarLexeme]]:
        """Find lexemes that others may stand for; PB009 where the time is over."""
        return [self.similar_of(request) for request in requests]

    def similar_of(self, request: SimilarRequest) -> Sequence[SimilarLexeme]:
        """Find lexemes that those of one configuration may stand for."""
        opened, check = self._begin(request.collection_ids, request.timeout_ms)
        check()
        return similar_lexemes(self.db, opened, request)

    def _begin(self, collection_ids: Sequence[int], timeout_ms: float) -> tuple[OpenIndex, Check]:
        """Return the open index, and what checks that the time of a request is not over."""
        self.make_ready(collection_ids)
        deadline = Deadline(monotonic() + timeout_ms / 1000)
        return self._opened[as_key(collection_ids)], deadline.check

    def _chunks(
        self, opened: OpenIndex, request: ListRequest, part: Part, check: Check
    ) -> list[Hit]:
        """Return the best chunks of one part."""
        checked = candidate_filter(self.db, request.collection_ids, request.filter, part.condition)
        terms, formula = term_ids(part.lexemes), request.formula
        scoring = Scoring(self.db, opened, part.config, terms, part.weights, formula, check)
        return scoring.best_passing(checked, request.depth, part.operands)

    def _documents(
        self, opened: OpenIndex, request: ListRequest, part: Part, check: Check
    ) -> list[Hit]:
        """Return the best documents of one part, each with its best chunk that passes the filter.

        Phrases, exclusions and filters are checked on the best documents. At each turn it is four
        times as many, until enough pass or none are left.
        """
        checked = candidate_filter(self.db, request.collection_ids, request.filter, None)
        found = joined_rows(self.db, opened, part.config, term_ids(part.lexemes))
        check()
        if checked is None and not part.operands:
            return best_documents(found, request, part, request.depth, False, check)
        wanted = request.depth
        while True:
            wanted = 4 * wanted
            hits = best_documents(found, request, part, wanted, True, check)
            passed = passing_documents(self.db, hits, checked, part.operands)
            if len(passed) >= request.depth or len({hit[1] for hit in hits}) < wanted:
                return passed[: request.depth]


def best_documents(
    found: DocumentRows,
    request: ListRequest,
    part: Part,
    depth: int,
    every_chunk: bool,
    check: Check,
) -> list[Hit]:
    """Return the best documents with every chunk that has a term, or with the best one alone."""
    formula = request.formula
    weights = TermWeights(formula.field_weights, part.weights, formula.k1)
    own_lengths = found.rows.own_lengths * found.alive
    lengths = np.bincount(found.documents, own_lengths, len(found.ids))
    norms = exact_norms(lengths, formula)
    places, scores = score_documents(found, weights, norms, depth, check)
    best = np.lexsort((found.ids[places], -scores))[:depth]
    chunks, order = chunks_of_documents(found, weights, places[best])
    if not every_chunk:
        firsts = np.unique(order, return_index=True)[1]
        chunks, order = chunks[firsts], order[firsts]
    return hits_of(found.rows, chunks, scores[best][order])


# A document passes an alternative when some chunk has each phrase and none has what it excludes.
_PASSING = """
    SELECT d.id FROM unnest($1) AS d (id) WHERE EXISTS (
        SELECT FROM unnest($2, $3, $4) AS o (alternative, operand, excluded)
        GROUP BY o.alternative
        HAVING bool_and(o.excluded <> EXISTS (
            SELECT FROM pgblend_data.chunk AS c
            WHERE c.document_id = d.id AND c.lexemes @@ o.operand)))
"""


def passing_documents(
    db: Database, hits: list[Hit], checked: CandidateFilter | None, operands: Sequence[Operand]
) -> list[Hit]:
    """Return the hits of the documents that pass, each with its first chunk that does."""
    if checked is not None:
        id_of = ID_OF[checked.column]
        passing = set(checked.passing(list(set(map(id_of, hits)))).tolist())
        hits = [hit for hit in hits if id_of(hit) in passing]
    firsts: dict[int, Hit] = {}
    for hit in hits:
        firsts.setdefault(hit[1], hit)
    kept = list(firsts)
    if operands:
        found = db.run(
            _PASSING,
            ["bigint[]", "bigint[]", "tsquery[]", "boolean[]"],
            kept,
            [one.alternative for one in operands],
            [one.operand for one in operands],
            [one.excluded for one in operands],
        )
        passed = {row["id"] for row in found}
        kept = [document_id for document_id in kept if document_id in passed]
    return [firsts[document_id] for document_id in kept]
