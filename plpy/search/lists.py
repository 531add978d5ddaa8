"""All lists of a search: the query's own words, models asked meanwhile, then vectors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import NamedTuple, Protocol

from pgblend.plpy.base.catalog import GivenExpansion, SearchSettings
from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.base.session import Json
from pgblend.plpy.base.stages import Progress
from pgblend.plpy.lexical.query import query_groups
from pgblend.plpy.models.outcome import ModelStages, Outcome
from pgblend.plpy.search.candidates import ArmList, corrected_words
from pgblend.plpy.search.plan import Plan


def is_strong_signal(
    query: str, found: CandidateList, settings: SearchSettings, arms: "ListSource"
) -> tuple[bool, list[float]]:
    """Return whether the best BM25 score is high and well above another document's, and five.

    `found` is the lexical arm's list for the query. Scores are compared as shares of `perfect`,
    what no passage can reach. Or, where the setting strong_signal has a `scale` above 0, as 1 / (1
    + exp(-(score - center) / scale)). A strong one has at least `score`, and is `gap` above the
    best of another document (0 where there is none). The next passage of the same document, or a
    copy of one, says the same answer once more. A list of those alone is asked for deeper.
    """
    signal = settings.strong_signal
    center, scale, perfect = signal["center"], signal["scale"], found.perfect or 1.0

    def scaled(score: float) -> float:
        return 1 / (1 + exp(min((center - score) / scale, 700))) if scale > 0 else score / perfect

    top = [scaled(score) for score in found.scores[:5]]
    if not top or top[0] < max(signal["score"], signal["gap"]):
        return False, top
    while True:
        near = [score for score in found.scores if top[0] - scaled(score) < signal["gap"]]
        if arms.say_more(found, len(near)):
            return False, top
        if len(near) < len(found.scores):
            return True, top
        deeper = arms.find("lexical", "strong_signal", 0, query, depth=4 * len(near)).found
        if len(deeper.scores) <= len(near):  # none where the time is over
            return bool(deeper.scores), top
        found = deeper


def vectors_of_texts(
    expansion: GivenExpansion, arms: Sequence[tuple[str, str, float, str]], joined: bool
) -> dict[str, str]:
    """Return {arm: vector as text} of those that the caller gave, by the names of variant_arms.

    `expansion` has `embeddings`: one for each of its embedded_texts; ValueError where they are
    other than that many, or of several sizes. Where hyde is `joined` to the query, its vector is
    that of both, and stands for the query's.
    """
    given = expansion.get("embeddings") or []
    if not given:
        return {}
    from pgblend.plpy.models.expansion import embedded_texts  # of few searches

    names = embedded_texts(expansion)
    if len(given) != len(names) or len({len(vector) for vector in given}) != 1:
        found = f'options: "expansion" has {len(given)} embeddings for {len(names)} texts'
        raise ValueError(f"{found}: expected a vector of one size for each of them")
    if joined:
        own = dict(zip(names, given, strict=True)).get("hyde")
        return {"vector": json.dumps(own)} if own else {}
    wanted = {name for kind, name, _, _ in arms if kind == "vector"}
    return {
        name: json.dumps(vector)
        for name, vector in zip(names, given, strict=True)
        if name in wanted
    }


NAME_FACTOR = 3


class ListSource(Protocol):
    """Where lists come from (Arms)."""

    def find(
        self,
        kind: str,
        arm: str,
        weight: float,
        text: str = "",
        vector: str | None = None,
        depth: int | None = None,
    ) -> ArmList:
        """Return the candidates of one arm, best first; `depth`, or as many as are set."""

    def say_more(self, found: CandidateList, most: int) -> bool:
        """Tell whether any of so many passages neither is of the first's document nor copies it."""

    def vectors_of(self, outcome: Outcome, count: int) -> list[str] | None:
        """Return the vectors in the gateway's answer; None, and named, where there are none."""


def first_lists(
    query: str, settings: SearchSettings, arms: ListSource, log: Progress
) -> list[ArmList]:
    """Return the lists of the words' and the fuzzy arm, where they run.

    An arm of weight 0 does not run, nor the fuzzy arm by the setting fuzzy (off, or auto with the
    lexical arm not running, or where that tells that passages have every word of the query). A
    fuzzy arm that finds nothing to put right gives no list: a passage cannot be missing there.
    Where it did, it has all that the lexical arm has and more. That then only breaks ties, by an
    eighth of its weight. Where the first passage's document is called as the query asks (`named`),
    both weigh three times as much. Vectors know no names, and prefer what mentions it.
    """
    weights, fuzzy = settings.weights, settings.fuzzy
    words = None
    if weights["lexical"] > 0:
        words = arms.find("lexical", "lexical", weights["lexical"], text=query)
        words.weight *= NAME_FACTOR if words.named else 1
        log.done("lexical", len(words.found.chunk_ids))
    else:
        log.skip("lexical", "its weight is 0")
    lists = [words] if words else []
    if weights["fuzzy"] == 0 or fuzzy == "off" or (fuzzy == "auto" and not words):
        log.skip("fuzzy", "its weight is 0" if weights["fuzzy"] == 0 else "by the setting fuzzy")
        return lists
    is_auto = fuzzy == "auto" and settings.fuzzy_method == "vocabulary"
    if is_auto and words and words.every_word:
        log.skip("fuzzy", "no word had to be corrected")
        return lists
    corrected = arms.find("fuzzy", "fuzzy", weights["fuzzy"], text=query)
    corrected.weight *= NAME_FACTOR if words and words.named else 1
    log.done("fuzzy", len(corrected.found.chunk_ids))
    if words and any("corrections" in note for note in corrected.notes.values()):
        bound_by_exact_words(corrected, words)
        words.weight /= 8
    return [*lists, corrected] if corrected.found.chunk_ids else lists


def bound_by_exact_words(corrected: ArmList, words: ArmList) -> None:
    """Let each corrected word give a passage no more than words as typed give the best one.

    A short text with a corrected word would outweigh a longer one with the words themselves. There
    is no bound where more words are misspelt than not, or none as typed is found. Lexemes that
    stand for the same ones are of one word (aGnzes is agnzes and gnzes).
    """
    found = corrected.found
    corrections = [corrected_words(note).values() for note in corrected.notes.values()]
    misspelt = max(len(set(map(tuple, of_row))) for of_row in corrections)
    if not words.found.scores or misspelt > words.asked - misspelt:
        return
    most = words.found.scores[0] * misspelt
    exact = dict(zip(words.found.chunk_ids, words.found.scores, strict=True))
    scores = [
        min(score, exact.get(chunk_id, 0.0) + most)
        for chunk_id, score in zip(found.chunk_ids, found.scores, strict=True)
    ]
    places = list(zip(found.document_ids, found.chunk_indexes, strict=True))
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], places[at]))
    corrected.found = found._replace(
        chunk_ids=[found.chunk_ids[at] for at in order],
        document_ids=[found.document_ids[at] for at in order],
        chunk_indexes=[found.chunk_indexes[at] for at in order],
        scores=[scores[at] for at in order],
        parts=[found.parts[at] for at in order],
    )
    corrected.notes = {rank: corrected.notes[at + 1] for rank, at in enumerate(order, 1)}


Arm = tuple[str, str, float, str]  # kind, name, weight, text


def variant_arms(query: str, expansion: GivenExpansion, settings: SearchSettings) -> list[Arm]:
    """Return (kind, name, weight, text) of each further list: by words, then by vectors.

    By the setting hyde 'query' there are none: its text takes the query's place instead. A list of
    weight 0 is not made, nor one of a way of searching whose own weight is 0. Phrases and
    exclusions bind all lists. A variant by words that lacks one of the query's is left out. The
    vector arm takes them from the query.
    """
    if settings.hyde == "query":
        return []
    weights = settings.weights
    arms: list[Arm] = []
    for kind, texts, name in (
        ("lexical", expansion["lexicalQueries"], "lexical_variant"),
        ("vector", expansion["vectorQueries"], "vector_variant"),
    ):
        if weights[kind] > 0 and weights.get(name, 0) > 0:
            arms += [
                (kind, f"{name}_{place}", weights[name], text)
                for place, text in enumerate(texts, 1)
                if kind == "vector" or _conditions(text) == _conditions(query)
            ]
    if expansion["hyde"] and weights["vector"] > 0 and weights.get("hyde", 0) > 0:
        arms.append(("vector", "hyde", weights["hyde"], expansion["hyde"]))
    share = settings.sub_questions["weight"]
    return arms + [
        (kind, f"{kind}_question_{place}", weights[kind] * share, text)
        for place, text in enumerate(expansion.get("subQuestions") or (), 1)
        for kind in ("lexical", "vector")
        if weights[kind] * share > 0
        and (kind == "vector" or _conditions(text) == _conditions(query))
    ]


def _conditions(query: str) -> list[tuple[set[str], set[str]]]:
    """Return phrases and exclusions of a query; a variant may say the rest in other words."""
    if '"' not in query and "-" not in query:
        return []
    groups = [
        (
            {phrase.casefold() for phrase in group["phrases"]},
            {word.casefold() for word in group["excluded"]},
        )
        for group in query_groups(query)["groups"]
    ]
    return [group for group in groups if any(group)]


class Gathered(NamedTuple):
    """The lists, the query's vector, and what became of the expansion."""

    lists: Sequence[ArmList]
    vector: str | None
    expansion: str | None


@dataclass(eq=False, repr=False)
class ListSearch:
    """One search's way to its lists.

    What models are asked for is sent first, and taken when the words are done. That is an
    expansion, then one call for all vectors. Without an expansion it is the query's vector.
    `vector` is the caller's, or None; `space` names the embedding space that is searched.
    """

    query: str
    vector: str | None
    plan: Plan
    space: str | None
    is_traced: bool
    arms: ListSource
    log: Progress
    models: ModelStages
    state: str | None = None  # what became of the expansion

    @property
    def embeds(self) -> bool:
        """Tell whether vectors are searched."""
        return self.plan.embeds(self.space)

    def begin(self) -> None:
        """Ask the model whose answer is needed next."""
        settings = self.plan.settings
        if self.plan.expands and not settings.expansion:
            from pgblend.plpy.models.expansion import expansion_question  # of few searches

            asked = settings.hyde, settings.history, settings.sub_questions["most"]
            self.models.begin(*expansion_question(self.query, *asked))
        elif self.embeds and self.vector is None and not self.plan.expands:
            self.models.begin("embed", {"input": [self.query]}, self.space)

    def is_strong(self, words: ArmList | None) -> bool:
        """Tell whether the lexical arm has found the answer; never of a chat's last question."""
        told = self.is_traced or "expand" in self.plan.not_run
        if words is None or not (self.plan.expands or told):
            return False
        settings = self.plan.settings
        strong, top = is_strong_signal(self.query, words.found, settings, self.arms)
        strong = strong and not settings.history
        self.state = "skipped_strong" if strong else "wanted"
        details: dict[str, Json] = {"strong": strong, "top": top, "expansion": self.state}
        self.log.done("strong_signal", len(top), details)
        return strong

    def expand(self, strong: bool) -> GivenExpansion | None:
        """Return the expansion, None where there is none."""
        if not self.plan.expands:
            self.log.skip("expand", self.plan.no_expansion)
            return None
        from pgblend.plpy.models.expansion import expanded_query  # of few searches

        expansion = expanded_query(self.plan.settings, strong, self.models, self.log)
        if expansion is not None:
            self.state = "expanded"
        elif not strong:
            self.state = "failed"
        return expansion

    def texts(self, joined: str | None, arms: Sequence[Arm]) -> dict[str, str]:
        """Return the texts that need vectors, by list; begin to embed those of an expansion.

        A hypothetical answer that is `joined` to the query takes the place of its vector.
        """
        texts = {} if self.vector is not None else {"vector": self.query}
        if joined:
            from pgblend.plpy.models.expansion import joined_to  # of few searches

            texts, self.vector = {"vector": joined_to(self.query, joined)}, None
        texts |= {name: text for kind, name, _, text in arms if kind == "vector"}
        if not self.embeds:
            return {}
        if texts and self.plan.expands:
            self.models.begin("embed", {"input": list(texts.values())}, self.space)
        return texts

    def embed(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the vectors of the texts, as far as the gateway gives them."""
        if not texts:
            reason = "the caller gave the vector"
            if self.vector is None:
                is_wanted = self.plan.settings.weights["vector"]
                reason = "there is no embedding space" if is_wanted else "no need"
            self.log.skip("embed", reason)
            return {}
        outcome = self.models.answer("embed")
        vectors = self.arms.vectors_of(outcome, len(texts)) or []
        self.log.done("embed", len(vectors), {"model_ms": outcome.ms})
        return dict(zip(texts, vectors, strict=False))

    def by_vector(self) -> list[ArmList]:
        """Return the list of the query's own vector."""
        weight = self.plan.settings.weights["vector"]
        if weight == 0 or self.vector is None:
            self.log.skip("vector", "the query has no vector" if weight else "its weight is 0")
            return []
        return [self.run("vector", "vector", weight, vector=self.vector)]

    def run(
        self, kind: str, name: str, weight: float, text: str = "", vector: str | None = None
    ) -> ArmList:
        """Return the list of an arm, and note it."""
        found = self.arms.find(kind, name, weight, "" if vector else text, vector)
        found.question = text if "_question_" in name else None
        self.log.done(name, len(found.found.chunk_ids))
        return found


def gathered_lists(search: ListSearch) -> Gathered:
    """Ask every arm for its list, and models meanwhile."""
    settings = search.plan.settings
    search.begin()
    words = first_lists(search.query, settings, search.arms, search.log)
    lexical = words[0] if words and words[0].arm == "lexical" else None
    expansion = search.expand(search.is_strong(lexical))
    arms = variant_arms(search.query, expansion, settings) if expansion else []
    joins = settings.hyde == "query"
    given = vectors_of_texts(expansion, arms, joins) if expansion else {}
    search.vector = given.pop("vector", search.vector)
    joined = None
    if joins and expansion and not expansion.get("embeddings"):  # else its vector is there
        joined = expansion["hyde"]
    texts = search.texts(joined, [arm for arm in arms if arm[1] not in given])
    more = [search.run(*arm) for arm in arms if arm[0] == "lexical"]
    vectors = given | search.embed(texts)
    search.vector = vectors.pop("vector", search.vector)
    own = search.by_vector()
    more += [
        search.run(*arm, vector=vectors[arm[1]])
        for arm in arms
        if arm[0] == "vector" and arm[1] in vectors
    ]
    lists = [*words[:1], *own, *words[1:]] if lexical else [*own, *words]
    return Gathered([*lists, *more], search.vector, search.state)
