"""Corpora and queries for bench_lexical.py."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from corpora import corpus_texts, queries_of

QUERIES = 100
VOCABULARY = 200_000


@dataclass(frozen=True)
class Corpus:
    """A collection to search: where its passages come from and in which language they are."""

    name: str
    text_search_config: str
    passages: int | None = None  # synthetic ones; None reads a judged collection

    def texts(self) -> Iterator[str]:
        """Give the passages, the title in front."""
        if self.passages:
            yield from zipf_texts(self.passages)
            return
        yield from corpus_texts(self.name)

    def queries(self) -> dict[str, list[str]]:
        """Return queries by kind: the collection's own, and some made of its words."""
        counts: Counter[str] = Counter()
        for text in islice(self.texts(), 20_000):
            counts.update(set(re.findall(r"\w{3,}", text.lower())))
        words = [word for word, _ in counts.most_common(5000)]
        random = np.random.default_rng(7)

        def pick(count: int, first: int, last: int) -> list[str]:
            return [words[place] for place in random.integers(first, last, count)]

        made = {
            "one word": [pick(1, 100, 5000) for _ in range(QUERIES)],
            "three words": [pick(3, 100, 5000) for _ in range(QUERIES)],
            "eight, common": [pick(4, 0, 60) + pick(4, 60, 3000) for _ in range(QUERIES)],
        }
        own = {} if self.passages else {"own": self.own_queries()}
        if self.text_search_config == "english":  # about many things, as the passages are
            own["questions"] = [row["text"] for row in queries_of("xquad-en")[: 4 * QUERIES : 4]]
        return own | {kind: [" ".join(some) for some in lists] for kind, lists in made.items()}

    def own_queries(self) -> list[str]:
        """Return the first of the judged collection's queries."""
        return [row["text"] for row in queries_of(self.name)[:QUERIES]]


def zipf_texts(passages: int) -> Iterator[str]:
    """Give passages of about 40 words whose frequencies follow Zipf's law; always the same."""
    random = np.random.default_rng(11)
    shares = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
    ends = np.cumsum(shares / shares.sum())
    words = np.array([f"word{place}" for place in range(VOCABULARY)], object)
    for _ in range(0, passages, 1000):
        sizes = random.lognormal(3.6, 0.5, 1000).astype(int) + 1
        places = np.minimum(np.searchsorted(ends, random.random(sizes.sum())), VOCABULARY - 1)
        for part in np.split(words[places], np.cumsum(sizes)[:-1]):
            yield " ".join(part)


CORPORA = (
    Corpus("wiki_en", "english"),
    Corpus("gesetze_de_core", "german"),
    Corpus("zipf_50k", "simple", 50_000),
    Corpus("zipf_500k", "simple", 500_000),
)
