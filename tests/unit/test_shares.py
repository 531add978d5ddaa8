"""What a coordinator asks of each shard."""

import pytest

from pgblend.plpy.shards.lists import share_of


@pytest.mark.parametrize(
    ("depth", "shards", "share"),
    [(100, 4, 44), (100, 8, 28), (100, 16, 19), (100, 1, 100), (1, 4, 1), (1001, 4, 1001)],
)
def test_the_share_of_a_list_that_one_shard_may_hold(depth: int, shards: int, share: int) -> None:
    assert share_of(depth, shards) == share


def test_the_share_of_a_long_list_is_small_as_well() -> None:
    assert 334 < share_of(1000, 3) < 400
    assert 62 < share_of(1000, 16) < 100
