"""The lexical arm: BM25 of a query's words, and of what misspelt ones may stand for."""

from collections.abc import Mapping, Sequence
from itertools import chain
from time import monotonic
from typing import NamedTuple

from pgblend.plpy.base.catalog import Synonyms
from pgblend.plpy.base.ports import (
    CandidateList,
    CountRequest,
    Counts,
    Formula,
    KnownRequest,
    LexicalPort,
    ListRequest,
    Part,
    Sample,
    SimilarRequest,
)
from pgblend.plpy.base.session import Database
from pgblend.plpy.lexical.configuration import question_words
from pgblend.plpy.lexical.corrections import (
    Guess,
    Lexeme,
    chosen_guesses,
    corrected_weights,
    guesses_of,
    most_of_guesses,
    told_corrections,
)
from pgblend.plpy.lexical.query import asked_of
from pgblend.plpy.lexical.spellings import is_letter_name, other_spellings, rare_spellings
from pgblend.plpy.lexical.terms import (
    QueryTerms,
    lexemes_of_words,
    own_df,
    query_idf,
    query_terms,
    with_others,
    with_stand_ins,
    with_synonyms,
    words_of_lexemes,
)
from pgblend.plpy.lexical.word_list import Deadline, WordList, arm_deadline

NOTHING = CandidateList([], [], [], [], [], None)
MOST_UNKNOWN = 64
LENGTHS = range(3, 61)  # letters of lexemes that may stand for others


class ListScope(NamedTuple):
    """What all lists of one search have in common.

    `deadline` is that of the whole search, on the monotonic clock. Unless `checks_index` is false,
    a collection without a lexical index is an error. So are, if `strict`, collections without
    chunks. `corrects_all`: the fuzzy list is made though no word is unknown. `fuses`: there may be
    other lists. Fusion with these has to know how much of a query's words passages have.
    """

    collection_ids: Sequence[int]
    filter: str | None
    language: str | None
    by_document: bool
    k1: float
    b: float
    field_weights: Sequence[float]
    timeout_ms: float
    deadline: float
    checks_index: bool
    strict: bool
    corrects_all: bool
    synonyms: Sequence[Synonyms] = ()
    fuses: bool = True


class LexicalArm:
    """The lists of one search by words.

    `ready_at` is when the session was ready for the last of them, on the monotonic clock; None
    before. `has_read` tells whether the index had to be read for it.
    """

    def __init__(self, db: Database, port: LexicalPort, scope: ListScope) -> None:
        self.db, self.port, self.scope = db, port, scope
        self.ready_at: float | None = None
        self.has_read = False
        self._parsed: dict[str, QueryTerms] = {}
        self._counted: set[Lexeme] = set()  # that passages have
        self._is_checked = False  # whether each collection has an index

    def words(self, query: str, depth: int) -> WordList:
        """Return the best candidates for a query's words; none for a query without lexemes.

        PB002 where an index is missing or damaged, PB003 where strict finds no chunks, PB009 where
        the time is over.
        """
        scope, terms = self.scope, self._terms(query)
        configs, lexemes = terms.configs, terms.lexemes
        if not lexemes:
            self._check_index()
            return WordList(NOTHING)
        deadline = self._begin()
        counts = self._count(configs, lexemes, scope.by_document, deadline)
        if 0 in own_df(counts) and self._spells_unknown(query, terms):
            terms = self._terms(query)
            configs, lexemes = terms.configs, terms.lexemes
            counts = self._count(configs, lexemes, scope.by_document, deadline)
        # A single collection in which words were counted has an index.
        if not counts.total_length or len(scope.collection_ids) > 1:
            self._check_index()
        self._is_checked = True
        if not counts.total_length:
            return WordList(NOTHING)
        values = query_idf(configs, lexemes, counts)
        idf = iter(values)
        parts = [
            part._replace(weights=[next(idf) * boost for boost in part.weights])
            for part in terms.parts
        ]
        if terms.stand_ins:
            of_lexemes = zip(configs, lexemes, strict=True)
            parts = with_stand_ins(terms, parts, dict(zip(of_lexemes, values, strict=True)))
        found = self._find(parts, counts, scope.by_document, depth, deadline)
        words = WordList(
            found,
            may_be_named=has_name(lexemes, counts),
            meanings=terms.meanings,
            synonyms=told_synonyms(terms, found),
        )
        if not scope.fuses:
            return words
        is_one = len(terms.parts) == 1 and not scope.by_document
        return words._replace(
            every_word=is_one and has_every_word(terms, counts),
            known=known_share(terms, counts, values),
            asked=words_asked(terms, counts),
        )

    def corrected(self, query: str, depth: int) -> WordList:
        """Return the candidates of a query whose misspelt and unfinished words are put right.

        A lexeme that the searched collections' vocabulary lacks stands for up to three that it has.
        Each counts by how likely it is. Known ones count as they are. None where no lexeme is
        unknown or none stands for another, unless the scope corrects all. Errors as of `words`.
        """
        self._check_index()
        deadline = self._begin()
        terms = self._terms(query)
        unknown = self._unknown(terms)
        if not terms.lexemes or not (self.scope.corrects_all or any(unknown)):
            return WordList(NOTHING)
        guesses = self._guesses(terms, unknown, deadline)
        if not (self.scope.corrects_all or guesses):
            return WordList(NOTHING)
        wanted = dict.fromkeys(
            [*((one.config, one.candidate) for one in guesses),
             *zip(terms.configs, terms.lexemes, strict=True)]
        )  # fmt: skip
        configs, lexemes = [config for config, _ in wanted], [lexeme for _, lexeme in wanted]
        counts = self._count(configs, lexemes, False, deadline)
        if not counts.total_length:
            return WordList(NOTHING)
        numbers = zip(own_df(counts), query_idf(configs, lexemes, counts), strict=True)
        frequencies = dict(zip(wanted, numbers, strict=True))
        chosen = chosen_guesses(guesses, frequencies)
        parts = corrected_parts(terms, chosen, frequencies)
        if terms.stand_ins:
            idf = {lexeme: value for lexeme, (_, value) in frequencies.items()}
            parts = with_stand_ins(terms, parts, idf)
        found = self._find(parts, counts, False, depth, deadline)
        told = [told_corrections(part.config, chosen) for part in parts]
        return WordList(found, corrections=[told[place] for place in found.parts])

    def sample(self, query: str, most: int) -> Sample:
        """Return a sample of what has any of a query's words; errors as of `words`."""
        terms, scope = self._terms(query), self.scope
        if not terms.lexemes:
            return Sample(0, 0, [], 0)
        formula = Formula(scope.k1, scope.b, 1.0, scope.field_weights)
        asked = scope.collection_ids, terms.parts, formula, scope.filter, False, most
        return self.port.sample(ListRequest(*asked, self._begin().left_ms()))

    def _terms(self, query: str) -> QueryTerms:
        if query not in self._parsed:
            scope = self.scope
            where = scope.collection_ids, scope.language
            terms = query_terms(self.db, self.port, query, *where)
            if scope.synonyms:
                terms = with_synonyms(self.db, terms, scope.synonyms)
            if spellings := other_spellings(asked_of(query).text):
                every = [part.lexemes for part in terms.parts]
                terms = self._with_spellings(terms, spellings, every)
            self._parsed[query] = terms
        return self._parsed[query]

    def _spells_unknown(self, query: str, terms: QueryTerms) -> bool:
        """Look for rare spellings of what no passage has; tell whether any is there.

        Of a query that is nothing but a name with a letter of its own, the parts stand together.
        """
        known = self._counted | terms.covered
        unknown = [
            [lexeme for lexeme in part.lexemes if (part.config, lexeme) not in known]
            for part in terms.parts
        ]
        text = asked_of(query).text
        spellings = [*other_spellings(text), *rare_spellings(text, [*chain(*unknown)])]
        if not spellings:
            return False
        bound = terms
        if is_letter_name(query) and not any(terms.stand_ins):
            where = self.scope.collection_ids, self.scope.language
            bound = query_terms(self.db, self.port, f'"{query}"', *where)
        spelt = self._with_spellings(bound, spellings, unknown, with_letters=True)
        if spelt is not bound:
            self._parsed[query] = spelt
        return spelt is not bound

    def _with_spellings(
        self,
        terms: QueryTerms,
        spellings: Sequence[tuple[str, str]],
        wanted: Sequence[Sequence[str]],
        with_letters: bool = False,
    ) -> QueryTerms:
        """Return a query whose names, of wanted lexemes, are spelt in other ways that are there."""
        from pgblend.plpy.lexical.synonyms import same_names  # of few searches

        found = [
            same_names(self.db, spellings, part.config, version, of_part, with_letters)
            for part, version, of_part in zip(terms.parts, terms.versions, wanted, strict=True)
        ]
        pairs = list(zip(terms.parts, found, strict=True))
        asked = [(part.config, x) for part, of_part in pairs for one in of_part for x in one.others]
        if not asked:
            return terms
        configs, lexemes = map(list, zip(*asked, strict=True))
        self._count(configs, lexemes, self.scope.by_document, self._begin())
        found = [
            [one for one in of_part if {(part.config, x) for x in one.others} <= self._counted]
            for part, of_part in pairs
        ]
        return with_others(terms, found) if any(found) else terms

    def _begin(self) -> Deadline:
        """Make the session ready, which counts against no limit, then start the clock."""
        self.has_read = self.port.make_ready(self.scope.collection_ids)
        self.ready_at = monotonic()
        return arm_deadline(self.scope.timeout_ms, self.scope.deadline)

    def _count(
        self, configs: Sequence[str], lexemes: Sequence[str], by_document: bool, deadline: Deadline
    ) -> Counts:
        ids = self.scope.collection_ids
        request = CountRequest(ids, configs, lexemes, by_document, deadline.left_ms())
        counts = self.port.count(request)
        of_lexemes = zip(configs, lexemes, own_df(counts), strict=True)
        self._counted.update((config, lexeme) for config, lexeme, df in of_lexemes if df)
        return counts

    def _find(
        self,
        parts: Sequence[Part],
        counts: Counts,
        by_document: bool,
        depth: int,
        deadline: Deadline,
    ) -> CandidateList:
        scope = self.scope
        average = counts.total_length / counts.n
        formula = Formula(scope.k1, scope.b, average, scope.field_weights)
        asked = scope.collection_ids, parts, formula, scope.filter, by_document, depth
        return self.port.find(ListRequest(*asked, deadline.left_ms()))

    def _unknown(self, terms: QueryTerms) -> list[list[str]]:
        """Return the lexemes of each part that are not known; identifiers are exact.

        What passages were counted of is known, what none has now may be known of deleted ones. What
        synonyms tell is known to people. A word that one searched language knows is known in all.
        """
        known_before = self._counted | terms.covered
        asked = [
            (part.config, lexeme)
            for part in terms.parts
            for lexeme in part.lexemes
            if not lexeme.startswith("=") and (part.config, lexeme) not in known_before
        ]
        configs, lexemes = [config for config, _ in asked], [lexeme for _, lexeme in asked]
        request = KnownRequest(self.scope.collection_ids, configs, lexemes)
        known = dict(zip(asked, self.port.known(request) if asked else (), strict=True))
        unknown = [
            [one for one in part.lexemes if not known.get((part.config, one), True)][:MOST_UNKNOWN]
            for part in terms.parts
        ]
        if len(terms.parts) > 1 and any(unknown):
            return self._unknown_everywhere(terms, unknown)
        return unknown

    def _unknown_everywhere(
        self, terms: QueryTerms, unknown: Sequence[Sequence[str]]
    ) -> list[list[str]]:
        """Return the lexemes of words that no searched language knows, stop words included."""
        parts = list(zip(terms.parts, unknown, strict=True))
        words = [
            words_of_lexemes(self.db, terms.query, part.config, lexemes) if lexemes else ()
            for part, lexemes in parts
        ]
        configs = [part.config for part in terms.parts]
        meant = lexemes_of_words(self.db, [*dict.fromkeys(chain(*words))], configs)
        asked = [*dict.fromkeys((config, one) for config, _, found in meant for one in found)]
        request = KnownRequest(
            self.scope.collection_ids, [config for config, _ in asked], [one for _, one in asked]
        )
        known = {
            pair
            for pair, is_known in zip(asked, self.port.known(request) if asked else (), strict=True)
            if is_known or pair in self._counted
        }
        # Of a stop word nothing is left that could be unknown.
        known_words = {
            word for config, word, found in meant if known >= {(config, x) for x in found}
        }
        return [
            [
                lexeme
                for lexeme, word in zip(lexemes, of_part, strict=True)
                if word not in known_words
            ]
            for (_, lexemes), of_part in zip(parts, words, strict=True)
        ]

    def _guesses(
        self, terms: QueryTerms, unknown: Sequence[Sequence[str]], deadline: Deadline
    ) -> list[Guess]:
        """Return what the unknown lexemes may stand for; question words stand for nothing else."""
        asked: list[tuple[Part, list[tuple[str, str]], SimilarRequest]] = []
        never = question_words([part.config for part in terms.parts]) if any(unknown) else ()
        for part, of_part in zip(terms.parts, unknown, strict=True):
            if not of_part:
                continue
            pairs = [
                (word, lexeme)
                for word, lexeme in zip(
                    words_of_lexemes(self.db, terms.query, part.config, of_part),
                    of_part,
                    strict=True,
                )
                if len(lexeme) in LENGTHS and len(word) <= LENGTHS[-1] and word not in never
            ]
            if not pairs:
                continue
            words, lexemes = [word for word, _ in pairs], [lexeme for _, lexeme in pairs]
            ids, left_ms = self.scope.collection_ids, deadline.left_ms()
            request = SimilarRequest(ids, part.config, words, lexemes, left_ms)
            asked.append((part, pairs, request))
        answers = self.port.similar([request for *_, request in asked]) if asked else ()
        guesses = [
            guess
            for (part, pairs, _), similar in zip(asked, answers, strict=True)
            for place, pair in enumerate(pairs)
            for guess in guesses_of(
                part.config, *pair, [one for one in similar if one.place == place]
            )
        ]
        deadline.check()
        return guesses

    def _check_index(self) -> None:
        if self.scope.checks_index and not self._is_checked:
            self.port.check_index(self.scope.collection_ids, self.scope.strict)


def has_every_word(terms: QueryTerms, counts: Counts) -> bool:
    """Tell whether passages have every lexeme; names, options and synonyms aside."""
    covered = {lexeme for _, lexeme in terms.covered} if terms.stand_ins else ()
    pairs = zip(terms.lexemes, counts.df, strict=True)
    return all(df for one, df in pairs if one[:2] not in ("==", "=-") and one not in covered)


def words_asked(terms: QueryTerms, counts: Counts) -> int:
    """Return how many words a query asks for, in the language in which they are most.

    An identifier that passages have ("=…") outweighs its own words: words as written count then. So
    they do where more than one is a stop word: that is a sentence, whose meaning counts. A single
    word of which passages may have only a part (topic of topic1, whose parts are searched as well)
    counts as two. Not every candidate has it.
    """
    written = len(asked_of(terms.query).words.split())
    df = dict(zip(zip(terms.configs, terms.lexemes, strict=True), own_df(counts), strict=True))
    most = 0
    stand_ins = terms.stand_ins or [[] for _ in terms.parts]
    for part, found in zip(terms.parts, stand_ins, strict=True):
        asked = [one for one, boost in zip(part.lexemes, part.weights, strict=True) if boost]
        is_exact = any(one[:1] == "=" and one[:2] != "==" and df[part.config, one] for one in asked)
        count = len([one for one in asked if one[:1] != "="])
        has_parts = count > 1 or any(len(one.others) > 1 for one in found)
        of_part = written if is_exact or written > count + 1 else count
        most = max(most, 2 if of_part == 1 and has_parts else of_part)
    return most


def known_share(terms: QueryTerms, counts: Counts, idf: Sequence[float]) -> float:
    """Return the share of the query's words, by idf, that passages have or synonyms stand for.

    Of several languages it is the largest; names and identifiers do not count.
    """
    covered = terms.covered if terms.stand_ins else ()
    shares: dict[str, tuple[float, float]] = {}
    of_lexemes = zip(terms.configs, terms.lexemes, own_df(counts), idf, strict=True)
    for config, lexeme, df, value in of_lexemes:
        if not lexeme.startswith("="):
            known, of_all = shares.get(config, (0.0, 0.0))
            is_known = df > 0 or (config, lexeme) in covered
            shares[config] = known + value * is_known, of_all + value
    return max((known / of_all for known, of_all in shares.values() if of_all), default=0.0)


def told_synonyms(terms: QueryTerms, found: CandidateList) -> Sequence[Mapping[str, Sequence[str]]]:
    """Return for each candidate what words of the query stood for in its language."""
    if not any(terms.stand_ins):
        return ()
    from pgblend.plpy.lexical.synonyms import told_stand_ins  # of few searches

    told = [told_stand_ins(of_part) for of_part in terms.stand_ins]
    return [told[place] for place in found.parts] if any(told) else ()


def has_name(lexemes: Sequence[str], counts: Counts) -> bool:
    """Tell whether passages have one of the lexemes that are names of documents."""
    pairs = zip(lexemes, counts.df, strict=True)
    return any(df for lexeme, df in pairs if lexeme.startswith("=="))


def corrected_parts(
    terms: QueryTerms,
    chosen: dict[Lexeme, list[tuple[str, float]]],
    frequencies: dict[Lexeme, tuple[int, float]],
) -> list[Part]:
    """Return what to look for once misspelt words are put right."""
    words = [
        (part.config, lexeme, boost)
        for part in terms.parts
        for lexeme, boost in zip(part.lexemes, part.weights, strict=True)
    ]
    most = most_of_guesses(words, chosen, frequencies, len(terms.parts) == 1)
    parts = []
    for part in terms.parts:
        of_part = part.config, part.lexemes, part.weights
        weights = corrected_weights(*of_part, chosen, frequencies, most)
        if weights:
            parts.append(Part(part.config, [*weights], [*weights.values()], part.condition))
    return parts
