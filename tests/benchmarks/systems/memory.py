"""bm25s: BM25 over words in the memory of one process, with Snowball's stemmer."""

import time

import bm25s
import Stemmer
from corpora import Corpus, Question

from systems import ROWS

STOP_WORDS = {"english": "en", "german": "de"}


class Memory:
    """Words only."""

    name = "bm25s, words only"
    connection = None

    def load(self, corpus: Corpus) -> float:
        """Tokenize and index everything."""
        start = time.perf_counter()
        self.stop_words = STOP_WORDS[corpus.language]
        self.stemmer = Stemmer.Stemmer(corpus.language)
        documents = [(document.key, document.whole) for document in corpus.documents()]
        self.keys = [key for key, _ in documents]
        tokens = self.tokens([text for _, text in documents])
        self.model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self.model.index(tokens, show_progress=False)
        return time.perf_counter() - start

    def tokens(self, texts: list[str]) -> object:
        """Return the texts' stemmed words."""
        return bm25s.tokenize(
            texts, stopwords=self.stop_words, stemmer=self.stemmer, show_progress=False
        )

    def search(self, question: Question) -> list[str]:
        """Search by words."""
        rows = min(ROWS, len(self.keys))
        found, scores = self.model.retrieve(
            self.tokens([question.text]), k=rows, show_progress=False
        )
        return [self.keys[place] for place, score in zip(found[0], scores[0], strict=True) if score]

    def bytes_stored(self) -> int | None:
        """Return nothing: it is in memory."""
        return None

    def close(self) -> None:
        """Let it go."""
        del self.model
