-- _convex_fusion: convex_fusion of many items at once; `scores` has a row for each list.
CREATE OR REPLACE FUNCTION pgblend._convex_fusion(
    scores double precision[],
    weights double precision[]
)
RETURNS double precision[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/convex_fusion.py
return convex_fusion(scores, weights)
$python$;

COMMENT ON FUNCTION pgblend._convex_fusion(double precision[], double precision[]) IS
'convex_fusion of many items at once; scores has a row for each list.';
