"""All lists of a search: the query's own words, models asked meanwhile, then vectors."""

from collections.abc import Callable, Mapping
from typing import Any

from pgblend.plpy.expanded_query import expanded_query
from pgblend.plpy.first_lists import first_lists
from pgblend.plpy.is_strong_signal import is_strong_signal
from pgblend.plpy.variant_arms import variant_arms
from pgblend.plpy.vectors_of_texts import vectors_of_texts

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
        """Tell whether the words' arm has found the answer."""
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
