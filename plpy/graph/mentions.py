"""Which documents a name means, and where texts have it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pgblend.plpy.graph.names import name_words

# What tells things of one name apart: "Lloyd (film)".
NAME_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
# A name that so many documents have tells none of them.
MOST_NAMESAKES = 5


class NamedDocuments:
    """Documents by their names; the longest name counts where several begin at a word."""

    def __init__(self, named: Iterable[tuple[int, str]]) -> None:
        self.documents: dict[str, set[int]] = defaultdict(set)
        self.most_words: dict[str, int] = {}
        for document_id, name in named:
            for form in (name, NAME_QUALIFIER.sub("", name)):
                words = name_words(form)
                if sum(map(len, words)) > 2:
                    self.documents[" ".join(words)].add(document_id)
        for name, documents in list(self.documents.items()):
            if len(documents) > MOST_NAMESAKES:
                del self.documents[name]
                continue
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
                if name in self.documents:
                    found.add(name)
                    step = count
                    break
            place += step
        return found

    def mentions(
        self, found: Sequence[tuple[int, int, str]], most_documents: int
    ) -> list[tuple[int, int, int, str]]:
        """Return (document, chunk, document meant, name) of names found in chunks of documents.

        A name that more than `most_documents` documents mention is a word, not a name.
        """
        mentioned_by: Mapping[str, set[int]] = defaultdict(set)
        for document_id, _, name in found:
            mentioned_by[name].add(document_id)
        return [
            (document_id, chunk_id, meant, name)
            for document_id, chunk_id, name in found
            if len(mentioned_by[name]) <= most_documents
            for meant in sorted(self.documents[name])
            if meant != document_id
        ]


def named_documents(named: Iterable[tuple[int, str]]) -> NamedDocuments:
    """Return what finds documents by (document id, name): a title or an alias."""
    return NamedDocuments(named)
