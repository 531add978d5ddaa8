"""How many candidates an arm is asked for."""

from collections.abc import Mapping


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
