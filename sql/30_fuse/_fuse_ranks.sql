-- _fuse_ranks: rrf of many items at once, and what an item first in every list would get.
-- `ranks` has a row for each list, of as many items.
CREATE OR REPLACE FUNCTION pgblend._fuse_ranks(
    ranks integer[],
    weights double precision[],
    k double precision,
    OUT fused double precision[],
    OUT attainable double precision
)
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/fuse_ranks.py
return fuse_ranks(ranks, weights, k)
$python$;

COMMENT ON FUNCTION pgblend._fuse_ranks(integer[], double precision[], double precision) IS
'rrf of many items at once (a row of ranks for each list), and what an item first in every list '
'would get.';
