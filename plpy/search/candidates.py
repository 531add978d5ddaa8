"""The lists of a search, and the pool of candidates that they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.base.session import Json
from pgblend.plpy.lexical.configuration import Meaning


@dataclass(slots=True, eq=False, repr=False)
class ArmList:
    """What one arm found, and what that counts in fusion.

    `arm` is what the list is called (an expanded query has several of a kind). `notes` has more of
    a rank, from 1. `every_word` tells that passages have every word of the text, and `known` how
    much of it. `asked` is how many words it asks for. `named` tells that the first passage's
    document is called so. `question` is the sub-question that was searched, None for the query and
    its variants.
    """

    arm: str
    kind: str
    weight: float
    found: CandidateList
    notes: Mapping[int, Mapping[str, Json]] = field(default_factory=dict)
    every_word: bool = False
    named: bool = False
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    question: str | None = None
    known: float = 0.0
    asked: int = 0

    @property
    def by_vector(self) -> bool:
        """Tell whether scores are cosines."""
        return self.kind == "vector"


@dataclass(slots=True, eq=False, repr=False)
class Fused:
    """The passages of all lists, each once, by (document id, chunk index), and their fused scores.

    So a stable sort by score leaves ties in that order. `ranks[list][item]` starts at 1; None where
    the list lacks the item.

    By item: `sums`, what fusion gave with all that follows, of at most `attainable`; `points`, the
    same in [0, 1]; `bonus`; factors (None without their settings): `recency`, `language`, `boost`
    and `decay`.
    `order` has the items, best first. By list: `normal` scores by item in convex fusion, 0 where
    the list lacks the item; else None. And `weights`, of which parts are shares of the `total` (0:
    of their sum). `feedback` has the chunk ids that the query's vector was moved to, `unmoved` the
    vector list's normal scores before. Both are None without feedback.
    """

    chunk_ids: Sequence[int] = ()
    document_ids: Sequence[int] = ()
    chunk_indexes: Sequence[int] = ()
    ranks: Sequence[Sequence[int | None]] = ()
    sums: Sequence[float] = ()
    attainable: float = 1.0
    points: Sequence[float] = ()
    order: Sequence[int] = ()
    bonus: Sequence[float] = ()
    recency: Sequence[float] | None = None
    language: Sequence[float] | None = None
    boost: Sequence[float] | None = None
    decay: Sequence[float] | None = None
    normal: Sequence[Sequence[float]] | None = None
    weights: Sequence[float] = ()
    total: float = 0.0
    feedback: Sequence[int] | None = None
    unmoved: Sequence[float] | None = None

    @property
    def whole(self) -> float:
        """Return what the weights are shares of."""
        return self.total or fsum(self.weights) or 1.0

    def ids(self, items: Sequence[int]) -> list[int]:
        """Return the items' chunk ids."""
        return [self.chunk_ids[item] for item in items]


def candidate_arms(
    item: int, lists: Sequence[ArmList], ranks: Sequence[Sequence[int | None]]
) -> dict[str, dict[str, Json]]:
    """Return {arm: {rank, score}} of the arms that found it; an arm's `notes` of the rank as well.

    `ranks[list][item]` as merge_lists gives them.
    """
    return {
        of_list.arm: {
            "rank": rank,
            "score": of_list.found.scores[rank - 1],
            **of_list.notes.get(rank, {}),
        }
        for of_list, of_ranks in zip(lists, ranks, strict=True)
        if (rank := of_ranks[item]) is not None
    }
