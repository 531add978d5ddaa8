"""Names of documents in texts of their collection, and which documents they mean."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from pgblend.plpy.graph.names import name_words

Found: TypeAlias = tuple[int, int, str]  # document, chunk, name
Mention: TypeAlias = tuple[int, int, int, str]  # document, chunk, document meant, name
Documents: TypeAlias = Mapping[str, set[int]]

# What tells things of one name apart: "Lloyd (film)".
NAME_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
# A name that so many documents have tells none of them.
MOST_NAMESAKES = 5


class NameFinder:
    """Finds names, as name_words has them, in texts.

    The longest counts where several begin at a word.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.most_words: dict[str, int] = {}
        for name in self.names:
            words = name.split(" ")
            self.most_words[words[0]] = max(self.most_words.get(words[0], 0), len(words))

    def names_in(self, text: str) -> set[str]:
        """Return the names that a text has, longest first from the left."""
        words = name_words(text)
        found = set()
        place = 0
        while place < len(words):
            step = 1
            for count in range(self.most_words.get(words[place], 0), 0, -1):
                name = " ".join(words[place : place + count])
                if name in self.names:
                    found.add(name)
                    step = count
                    break
            place += step
        return found

    def found_in(self, texts: Iterable[Mapping[str, Any]]) -> list[Found]:
        """Return the names of texts, each of a chunk (id) of a document."""
        return [
            (row["document_id"], row["id"], name)
            for row in texts
            for name in sorted(self.names_in(row["text"]))
        ]


def documents_named(named: Iterable[tuple[int, str]]) -> Documents:
    """Return the documents of each name, of (document, title or alias); few letters are none."""
    documents: defaultdict[str, set[int]] = defaultdict(set)
    for document_id, name in named:
        for form in (name, NAME_QUALIFIER.sub("", name)):
            words = name_words(form)
            if sum(map(len, words)) > 2:
                documents[" ".join(words)].add(document_id)
    return {name: those for name, those in documents.items() if len(those) <= MOST_NAMESAKES}


def most_documents(count: int) -> int:
    """Return how many of `count` documents may mention a name: one of more is a word."""
    return max(10, count // 100)


def common_names(found: Iterable[Found], most: int) -> set[str]:
    """Return the names that more than `most` documents mention."""
    mentioned_by: defaultdict[str, set[int]] = defaultdict(set)
    for document_id, _, name in found:
        mentioned_by[name].add(document_id)
    return {name for name, documents in mentioned_by.items() if len(documents) > most}


def mentions(documents: Documents, found: Iterable[Found], common: set[str]) -> list[Mention]:
    """Return what names found in chunks mean, each once a chunk; common ones mean nothing."""
    meant: dict[tuple[int, int, int], str] = {}
    for document_id, chunk_id, name in found:
        if name not in common:
            for target in sorted(documents[name]):
                if target != document_id:
                    meant.setdefault((document_id, chunk_id, target), name)
    return [(*ends, name) for ends, name in meant.items()]
