"""How many vectors are compared rather than walked to, by what was measured."""

import pytest

from pgblend.plpy.base.ports import Space
from pgblend.plpy.search.vectors import VectorSearch


# Milliseconds of both ways by bench_vector_scan.py's own vectors: tests/benchmarks/NOTES.md.
@pytest.mark.parametrize(
    ("dimensions", "vectors", "own", "is_compared"),
    [
        (384, 10_000, 2_000, True),  # 2.4 against 5.0
        (384, 10_000, 5_000, False),  # 3.7 against 2.9
        (384, 20_000, 6_000, True),  # 3.6 against 4.3
        (384, 50_000, 7_500, True),  # 5.6 against 12.7
        (384, 50_000, 15_000, False),  # 11.7 against 7.6
        (384, 100_000, 10_000, True),  # 10.1 against 22.4
        (384, 100_000, 20_000, False),  # 17.3 against 13.1
        (1536, 10_000, 2_000, True),  # 5.8 against 8.8
        (1536, 10_000, 5_000, False),  # 12.3 against 6.8
        (1536, 20_000, 4_000, True),  # 9.4 against 13.4
        (1536, 20_000, 6_000, False),  # 13.1 against 11.1
    ],
)
def test_vectors_of_collections_are_compared_where_a_walk_takes_longer(
    dimensions: int, vectors: int, own: int, is_compared: bool
) -> None:
    assert (own <= asked_of(dimensions, vectors).few_of_collections) is is_compared


def asked_of(dimensions: int, vectors: int, ef_search: int | None = None) -> VectorSearch:
    space = Space(
        *("s", "m", dimensions, True, "vector", f"vector({dimensions})", None, "embedding_s"),
        *(1, vectors, False),
    )
    return VectorSearch(None, space, [1], False, None, None, None, "auto", ef_search, 4.0, 100)


@pytest.mark.parametrize(
    ("vectors", "width"),
    [(-1, 101), (50_000, 101), (250_000, 250), (1_000_000, 400)],
)
def test_a_walk_that_leaves_passages_out_is_wider_in_a_large_index(
    vectors: int, width: int
) -> None:
    assert asked_of(384, vectors).width_for_some == width
    assert asked_of(384, vectors).width == 101
    assert asked_of(384, vectors, ef_search=120).width_for_some == 121
