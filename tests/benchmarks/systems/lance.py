"""LanceDB's own hybrid search with its RRF reranker."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

os.environ.setdefault("LANCEDB_LOG", "error")  # a deprecation notice for each search otherwise

import lancedb
import pyarrow
from corpora import Corpus, Question
from lancedb.index import FTS, HnswSq
from lancedb.rerankers import RRFReranker

from systems import DEPTH, ROWS

# Below this LanceDB's manual advises against a vector index: comparing all is quick and exact.
INDEX_FROM = 20_000
BATCH = 5000


class Lance:
    """One table in a folder of its own."""

    name = "LanceDB hybrid"
    connection = None

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="bench-lance-")
        self.reranker = RRFReranker()

    def load(self, corpus: Corpus) -> float:
        """Write the table and index it: full text, and vectors where there are many."""
        start = time.perf_counter()
        schema = pyarrow.schema({
            "key": pyarrow.string(),
            "text": pyarrow.string(),
            "vector": pyarrow.list_(pyarrow.float32(), corpus.dimensions),
        })  # fmt: skip
        database = lancedb.connect(self.folder.name)
        self.table = database.create_table("bench", batches(corpus, schema), schema=schema)
        self.table.create_index("text", config=FTS(language=corpus.language.capitalize()))
        if corpus.size >= INDEX_FROM:
            self.table.create_index("vector", config=HnswSq(distance_type="cosine"))
        self.table.optimize()
        return time.perf_counter() - start

    def session(self) -> AbstractContextManager[Any]:
        """Give the table, which several threads may search."""
        return nullcontext(self.table)

    def search(self, question: Question) -> list[str]:
        """Search by words and vector."""
        return self.ask(self.table, question)

    def ask(self, table: Any, question: Question) -> list[str]:
        """Search in a session."""
        query = (
            table.search(query_type="hybrid")
            .vector(question.vector)
            .text(question.text)
            .distance_type("cosine")
            .rerank(self.reranker)
            .limit(DEPTH)
            .select(["key", "text"])
        )
        return [str(key) for key in query.to_arrow()["key"][:ROWS].to_pylist()]

    def bytes_stored(self) -> int | None:
        """Return the folder's size."""
        files = Path(self.folder.name).rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file())

    def close(self) -> None:
        """Throw the folder away."""
        self.folder.cleanup()


def batches(corpus: Corpus, schema: Any) -> Iterator[Any]:
    """Give the corpus as record batches."""
    documents = corpus.documents()
    while some := list(islice(documents, BATCH)):
        rows = [{"key": d.key, "text": d.whole, "vector": d.vector} for d in some]
        yield pyarrow.RecordBatch.from_pylist(rows, schema)
