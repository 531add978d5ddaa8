"""All lists of a search: the query's own words, models asked meanwhile, then vectors."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import exp
from typing import Any

from pgblend.plpy.models.expansion import expanded_query
from pgblend.plpy.text.query import query_groups


def is_strong_signal(
    scores: Sequence[float], perfect: float, signal: Mapping[str, float]
) -> tuple[bool, list[float]]:
    """Return whether the best BM25 score is high and well above the second, and the best five.

    `scores` are BM25, best first. They are compared as shares of `perfect`, what no passage can
    reach; or, where `signal` has a `scale` above 0, as 1 / (1 + exp(-(score - center) / scale)). A
    strong one has at least `score`, and is at least `gap` above the second (0 where there is none).
    """
    center, scale = signal["center"], signal["scale"]
    if scale > 0:
        top = [1 / (1 + exp(min((center - score) / scale, 700))) for score in scores[:5]]
    else:
        top = [score / perfect for score in scores[:5]]
    if not top:
        return False, top
    gap = top[0] - (top[1] if len(top) > 1 else 0.0)
    return top[0] >= signal["score"] and gap >= signal["gap"], top


def note_corrections(fuzzy: dict[str, Any], method: str) -> bool:
    """Put method and corrections of each row into the list's `notes`; return whether any are there.

    `corrections` of the list is a JSON text for each row, None for the method word_similarity.
    """
    told = fuzzy["corrections"]
    notes = {
        text: {"method": method, **({"corrections": json.loads(text)} if text else {})}
        for text in set(told)
    }
    fuzzy["notes"] = {rank: notes[text] for rank, text in enumerate(told, 1)}
    return any(told)


def corrected_query(query: str | None, arms: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the query after the words that the fuzzy arm, one of a passage's arms, looked for.

    Without a query, as where only its vector is given, it is empty.
    """
    corrections = arms.get("fuzzy", {}).get("corrections", {})
    words = [re.sub('["-]', " ", word) for of_word in corrections.values() for word in of_word]
    return " ".join([*words, query or ""])


def vectors_of_texts(
    expansion: Mapping[str, Any], arms: Sequence[tuple[str, str, float, str]], joined: bool
) -> dict[str, str]:
    """Return {arm: vector as text} of those that the caller gave, by the names of variant_arms.

    `expansion` has `embeddings`: one for each of its vectorQueries, then one for hyde; ValueError
    where they are other than that many, or of several sizes. Where hyde is `joined` to the query,
    its vector is that of both, and stands for the query's.
    """
    given = expansion.get("embeddings") or []
    if not given:
        return {}
    names = [f"vector_variant_{place}" for place in range(1, len(expansion["vectorQueries"]) + 1)]
    names += ["hyde"] if expansion["hyde"] else []
    if len(given) != len(names) or len({len(vector) for vector in given}) != 1:
        found = f'options: "expansion" has {len(given)} embeddings for {len(names)} texts'
        raise ValueError(f"{found}: expected a vector of one size for each of them")
    if joined:
        return {"vector": json.dumps(given[-1])} if expansion["hyde"] else {}
    wanted = {name for kind, name, _, _ in arms if kind == "vector"}
    return {
        name: json.dumps(vector)
        for name, vector in zip(names, given, strict=True)
        if name in wanted
    }


NAME_FACTOR = 3


def first_lists(
    settings: Mapping[str, Any],
    search: Callable[[str], dict[str, Any]],
    done: Callable[..., object],
    skip: Callable[[str, str], None],
) -> list[dict[str, Any]]:
    """Return the lists of the words' and the fuzzy arm, where they run.

    `search` gives the list of an arm (arm_list). An arm of weight 0 does not run, nor the fuzzy arm
    by the setting fuzzy (off, or auto with the lexical arm not running, or where that tells that
    passages have every word of the query: `every_word`). A fuzzy arm that finds nothing to put
    right gives no list: a passage cannot be missing there. Where it did, it has all that the words'
    arm has and more, which then only breaks ties, by an eighth of its weight. Where the first
    passage's document is called as the query asks (`named`), both weigh three times as much:
    vectors know no names, and prefer what mentions it.
    """
    weights, fuzzy = settings["weights"], settings["fuzzy"]
    lists = []
    if weights["lexical"] > 0:
        lists.append(search("lexical"))
        lists[0]["weight"] *= NAME_FACTOR if lists[0]["named"] else 1
        done("lexical", len(lists[0]["chunk_ids"]))
    else:
        skip("lexical", "its weight is 0")
    if weights["fuzzy"] == 0 or fuzzy == "off" or (fuzzy == "auto" and not lists):
        skip("fuzzy", "its weight is 0" if weights["fuzzy"] == 0 else "by the setting fuzzy")
        return lists
    is_auto = fuzzy == "auto" and settings["fuzzy_method"] == "vocabulary"
    if is_auto and lists[0]["every_word"]:
        skip("fuzzy", "no word had to be put right")
        return lists
    corrected = search("fuzzy")
    corrected["weight"] *= NAME_FACTOR if lists and lists[0]["named"] else 1
    done("fuzzy", len(corrected["chunk_ids"]))
    if note_corrections(corrected, settings["fuzzy_method"]) and lists:
        lists[0]["weight"] /= 8
    return [*lists, corrected] if corrected["chunk_ids"] else lists


Arm = tuple[str, str, float, str]  # kind, name, weight, text


def variant_arms(
    query: str, expansion: Mapping[str, Any], settings: Mapping[str, Any]
) -> list[Arm]:
    """Return (kind, name, weight, text) of each further list: by words, then by vectors.

    By the setting hyde 'query' there are none: its text takes the query's place instead. A list of
    weight 0 is not made, nor one of a way of searching whose own weight is 0. Phrases and
    exclusions bind all lists: a variant by words that lacks one of the query's is left out, while
    the vector arm takes them from the query.
    """
    if settings["hyde"] == "query":
        return []
    weights = settings["weights"]
    arms: list[Arm] = []
    for kind, key, name in (
        ("lexical", "lexicalQueries", "lexical_variant"),
        ("vector", "vectorQueries", "vector_variant"),
    ):
        if weights[kind] > 0 and weights.get(name, 0) > 0:
            arms += [
                (kind, f"{name}_{place}", weights[name], text)
                for place, text in enumerate(expansion[key], 1)
                if kind == "vector" or _conditions(text) == _conditions(query)
            ]
    if expansion["hyde"] and weights["vector"] > 0 and weights.get("hyde", 0) > 0:
        arms.append(("vector", "hyde", weights["hyde"], expansion["hyde"]))
    return arms


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


List = dict[str, Any]


class ListSearch:
    """One search's way to its lists; gathered_lists says what its values are."""

    def __init__(
        self,
        query: str,
        vector: str | None,
        settings: Mapping[str, Any],
        models: Any,
        tools: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.query, self.vector, self.settings = query, vector, settings
        self.models, self.tools = models, tools
        self.weights = settings["weights"]
        self.expands = settings["stages"]["expand"]
        self.has_space = settings["space"] is not None
        self.embeds = self.weights["vector"] > 0 and self.has_space
        self.state: str | None = None  # what became of the expansion

    def begin(self) -> None:
        """Ask the model whose answer is needed next."""
        if self.expands and not self.settings["expansion"]:
            task = "hyde" if self.settings["hyde"] == "query" else "expand"
            self.models.begin(task, {"query": self.query})
        elif self.embeds and self.vector is None and not self.expands:
            self.models.begin("embed", {"input": [self.query]}, self.settings["space"])

    def is_strong(self, words: List | None) -> bool:
        """Tell whether the lexical arm has found the answer."""
        told = self.settings["traced"] or "expand" in self.settings["not_run"]
        if words is None or not (self.expands or told):
            return False
        strong, top = is_strong_signal(
            words["scores"], words["perfect"], self.settings["strong_signal"]
        )
        self.state = "skipped_strong" if strong else "wanted"
        details = {"strong": strong, "top": top, "expansion": self.state}
        self.tools["done"]("strong_signal", len(top), details=details)
        return strong

    def expand(self, strong: bool) -> dict[str, Any] | None:
        """Return the expansion, None where there is none."""
        if not self.expands:
            self.tools["skip"]("expand", self.settings["no_expansion"])
            return None
        expansion = expanded_query(self.settings, strong, self.models, self.tools)
        if expansion is not None:
            self.state = "expanded"
        elif not strong:
            self.state = "failed"
        return expansion

    def texts(self, expansion: Mapping[str, Any] | None, arms: Any) -> dict[str, str]:
        """Return the texts that need vectors, by list; begin to embed those of an expansion."""
        texts = {} if self.vector is not None else {"vector": self.query}
        if expansion and expansion["hyde"] and self.settings["hyde"] == "query":
            texts, self.vector = {"vector": f"{self.query}\n\n{expansion['hyde']}"}, None
        texts |= {name: text for kind, name, _, text in arms if kind == "vector"}
        if not self.embeds:
            return {}
        if texts and self.expands:
            self.models.begin("embed", {"input": list(texts.values())}, self.settings["space"])
        return texts

    def embed(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the vectors of the texts, as far as the gateway gives them."""
        if not texts:
            reason = "the caller gave the vector"
            if self.vector is None:
                reason = "there is no embedding space" if self.weights["vector"] else "no need"
            self.tools["skip"]("embed", reason)
            return {}
        outcome = self.models.answer("embed")
        vectors = self.tools["vectors_of"](outcome, len(texts)) or []
        self.tools["done"]("embed", len(vectors), details={"model_ms": outcome["ms"]})
        return dict(zip(texts, vectors, strict=False))

    def by_vector(self) -> list[List]:
        """Return the list of the query's own vector."""
        if self.weights["vector"] == 0 or self.vector is None:
            absent = "the query has no vector" if self.weights["vector"] else "its weight is 0"
            self.tools["skip"]("vector", absent)
            return []
        return [self.run("vector", "vector", self.weights["vector"], vector=self.vector)]

    def run(self, kind: str, name: str, weight: float, **asked: str) -> List:
        """Return the list of an arm, and note it."""
        found: List = self.tools["search"](kind, name, weight, **asked)
        self.tools["done"](name, len(found["chunk_ids"]))
        return found


def gathered_lists(
    query: str,
    vector: str | None,
    settings: Mapping[str, Any],
    models: Any,
    tools: Mapping[str, Callable[..., Any]],
) -> dict[str, Any]:
    """Return {lists, vector, expansion}: the lists, the query's vector, what became of expansion.

    What models are asked for is sent first and taken when the words are done: an expansion, then
    one call for all vectors; without an expansion the query's vector. `vector` is the caller's.
    `settings` also has space, stages, not_run, traced and no_expansion (why there is none).
    `models` is what model_stages returns. `tools`: search(kind, name, weight, text, vector) gives a
    list; vectors_of(outcome, count) the vectors in the gateway's answer, None where there are none
    (which it names); done, skip, degrade.
    """
    search = ListSearch(query, vector, settings, models, tools)
    search.begin()
    words = first_lists(
        settings,
        lambda arm: tools["search"](arm, arm, settings["weights"][arm], text=query),
        tools["done"],
        tools["skip"],
    )
    lexical = words[0] if words and words[0]["arm"] == "lexical" else None
    expansion = search.expand(search.is_strong(lexical))
    arms = variant_arms(query, expansion, settings) if expansion else []
    joined = settings["hyde"] == "query"
    given = vectors_of_texts(expansion, arms, joined) if expansion else {}
    search.vector = given.pop("vector", search.vector)
    if joined and expansion and expansion.get("embeddings"):
        expansion = {**expansion, "hyde": None}  # its vector is there
    texts = search.texts(expansion, [arm for arm in arms if arm[1] not in given])
    more = [search.run(*arm[:3], text=arm[3]) for arm in arms if arm[0] == "lexical"]
    vectors = given | search.embed(texts)
    search.vector = vectors.pop("vector", search.vector)
    own = search.by_vector()
    more += [
        search.run(*arm[:3], vector=vectors[arm[1]])
        for arm in arms
        if arm[0] == "vector" and arm[1] in vectors
    ]
    lists = [*words[:1], *own, *words[1:]] if lexical else [*own, *words]
    return {"lists": [*lists, *more], "vector": search.vector, "expansion": search.state}
