"""One arm's list of candidates, and how many are asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def arm_depth(
    over_fetch: Mapping[str, float],
    candidate_depth: int,
    wanted: int,
    reranked: bool,
    variant: bool,
) -> int:
    """Return candidate_depth, or, by a literal profile's rule, a multiple of the rows wanted.

    With a `factor` above 0 in `over_fetch` it is max(minimum, factor · wanted) (S1: 2; S3: 2 and
    minimum 20). `variant_factor` holds for the lists of an expanded query (S1: 1) and
    `rerank_factor` where a reranker follows (S2: 3), each where it is given. `wanted` is offset +
    limit: only these profiles depend on it. At least 1, at most 10,000.
    """
    factor = over_fetch.get("factor", 0)
    if factor == 0:
        return candidate_depth
    if variant:
        factor = over_fetch.get("variant_factor", factor)
    elif reranked:
        factor = over_fetch.get("rerank_factor", factor)
    return int(min(max(over_fetch.get("minimum", 1), factor * wanted, 1), 10_000))


_NAMED_SPACE = "(SELECT s FROM pgblend_data.embedding_space AS s WHERE s.name = $6)"
_ASKED = ["text", "bigint[]", "jsonb", "jsonb"]
_STATEMENT = "SELECT a.* FROM pgblend.{} AS a"
_COLUMNS = ("chunk_ids", "document_ids", "chunk_indexes", "scores")
_ARMS = {
    "lexical": (_STATEMENT.format("_lexical_arm($1, $2, $3, $4)"), _ASKED),
    "vector": (
        _STATEMENT.format(f"_vector_arm($5, {_NAMED_SPACE}, $2, $1, $3, $4)"),
        [*_ASKED, "vector", "text"],
    ),
    "fuzzy": (_STATEMENT.format("_fuzzy_arm($1, $2, $3, $4)"), _ASKED),
}


def arm_list(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    kind: str,
    arm: str,
    weight: float,
    values: Sequence[object],
    handed: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the candidates of one arm (lexical, vector, fuzzy), best first, as columns.

    `run` executes (statement, types, *values); `values` are query (for vectors the one whose
    phrases and exclusions bind, or None), collection ids, filter and settings, for vectors also the
    vector and the space's name. `arm` is what the list is called (an expanded query has several of
    a kind) and `weight` what it counts in fusion. Where the arm has put its `columns` into
    `handed`, what the statement gives is left aside: numbers that Python has need not be written
    and read. The list has `chunk_ids`, `document_ids`, `chunk_indexes` and `scores`; `perfect`,
    what no passage can reach, is None for cosines.
    """
    row = run(*_ARMS[kind], *values)[0]
    if handed["columns"] is None:
        columns = {name: value or [] for name, value in row.items() if name != "perfect_score"}
    else:
        columns = dict(zip(_COLUMNS, handed["columns"], strict=True))
    return {
        "arm": arm,
        "kind": kind,
        "by_vector": kind == "vector",
        "weight": weight,
        "perfect": row.get("perfect_score"),
        **columns,
    }


def candidate_arms(
    item: int,
    lists: Sequence[Mapping[str, Any]],
    ranks: Sequence[Sequence[int | None]],
) -> dict[str, dict[str, Any]]:
    """Return {arm: {rank, score}} of the arms that found it; an arm's `notes` of the rank as well.

    `ranks[list][item]` as merge_lists gives them; `lists` have `arm` and `scores`, best first, and
    may have `notes`, {rank: {name: value}}.
    """
    return {
        of_list["arm"]: {
            "rank": rank,
            "score": of_list["scores"][rank - 1],
            **of_list.get("notes", {}).get(rank, {}),
        }
        for of_list, of_ranks in zip(lists, ranks, strict=True)
        if (rank := of_ranks[item]) is not None
    }
