"""A port of the lexical arm over several nodes, as a coordinator of shards would have it."""

from collections.abc import Sequence
from itertools import chain

from pgblend.plpy.base.ports import (
    CandidateList,
    CountRequest,
    Counts,
    KnownRequest,
    LexicalPort,
    ListRequest,
    SimilarLexeme,
    SimilarRequest,
)
from pgblend.plpy.base.session import Rows


class Nodes:
    """Asks every node, and merges the answers; no document is on two of them."""

    def __init__(self, nodes: Sequence[LexicalPort]) -> None:
        self.nodes = nodes

    def words(self, query: str, collection_ids: Sequence[int], language: str | None) -> Rows:
        return self.nodes[0].words(query, collection_ids, language)  # of the same configurations

    def check_index(self, collection_ids: Sequence[int], is_strict: bool) -> None:
        for node in self.nodes:
            node.check_index(collection_ids, is_strict)

    def make_ready(self, collection_ids: Sequence[int]) -> bool:
        return any([node.make_ready(collection_ids) for node in self.nodes])

    def count(self, request: CountRequest) -> Counts:
        answers = [node.count(request) for node in self.nodes]

        def summed(name: str) -> list[int]:
            columns = zip(*(getattr(answer, name) for answer in answers), strict=True)
            return [sum(values) for values in columns]

        return Counts(
            sum(answer.n for answer in answers),
            sum(answer.total_length for answer in answers),
            *map(summed, ("df", "language_n", "language_df")),
        )

    def find(self, request: ListRequest) -> CandidateList:
        lists = [node.find(request) for node in self.nodes]
        rows = [
            row
            for one in lists
            for row in zip(*one[:5], strict=True)  # all columns
        ]
        rows.sort(key=lambda row: (-row[3], row[1], row[2]))
        columns = [[row[place] for row in rows[: request.depth]] for place in range(5)]
        reached = [one.perfect for one in lists if one.perfect is not None]
        return CandidateList(*columns, max(reached, default=None))

    def known(self, request: KnownRequest) -> Sequence[bool]:
        answers = [node.known(request) for node in self.nodes]
        return [any(of_lexeme) for of_lexeme in zip(*answers, strict=True)]

    def similar(self, requests: Sequence[SimilarRequest]) -> Sequence[Sequence[SimilarLexeme]]:
        answers = [node.similar(requests) for node in self.nodes]
        return [[*chain(*of_request)] for of_request in zip(*answers, strict=True)]
