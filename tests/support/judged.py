"""Judged collections: documents, queries and judgements from ../shared/data, and nDCG on them."""

import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import Qrel, ScoredDoc, nDCG

from support.database import Database


@dataclass(frozen=True)
class Judged:
    """One collection: documents as (id, title, text), queries by id, and judgements."""

    name: str
    documents: list[tuple[str, str, str]]
    queries: dict[str, str]
    judgements: list[Qrel]


def read_judged(folder: Path) -> Judged:
    """Read a collection; queries without a judgement are left out."""
    documents = [
        (record["_id"], record.get("title") or "", record["text"])
        for record in _records(folder / "corpus.jsonl.xz")
    ]
    judgements = []
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query_id, document_id, relevance = line.split("\t")
        judgements.append(Qrel(query_id, document_id, int(float(relevance))))
    judged = {judgement.query_id for judgement in judgements if judgement.relevance > 0}
    path = folder / "queries.jsonl"
    queries = {
        record["_id"]: record["text"]
        for record in _records(path if path.exists() else folder / "queries.jsonl.xz")
        if record["_id"] in judged
    }
    return Judged(folder.name, documents, queries, judgements)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as lines:
        for line in lines:
            yield json.loads(line)


def add_judged(db: Database, collection: str, judged: Judged, language: str) -> None:
    """Ingest the documents, one passage each; their keys are their ids after the set's name."""
    with db.connection.cursor() as cursor:
        cursor.executemany(
            "SELECT blend.ingest_document(%s, %s, '', title => %s, language => %s,"
            " content_hash => 'x', chunks => jsonb_build_array("
            "jsonb_build_object('content', %s::text)))",
            [
                (collection, f"{judged.name}/{key}", title, language, text)
                for key, title, text in judged.documents
            ],
        )


def plain(query: str) -> str:
    """Take the operators out of a query: what people wrote as prose, a reference ranks as words."""
    words = re.sub(r"(?<!\S)-+|\"", " ", query).split()
    return " ".join(word for word in words if word.lower() != "or")


def ndcg_at_10(
    judged: Judged,
    search: Callable[[str], Iterable[tuple[str, float]]],
    rewrite: Callable[[str], str] = plain,
) -> float:
    """Return the mean nDCG@10 of a search, which gives (key, score), best first."""
    found = [
        ScoredDoc(query_id, key.removeprefix(f"{judged.name}/"), -float(rank))
        for query_id, query in judged.queries.items()
        for rank, (key, _) in enumerate(search(rewrite(query)))
    ]
    judgements = [item for item in judged.judgements if item.query_id in judged.queries]
    return float(ir_measures.calc_aggregate([nDCG @ 10], judgements, found)[nDCG @ 10])
