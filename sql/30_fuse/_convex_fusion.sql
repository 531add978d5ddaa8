-- _convex_fusion: convex_fusion of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._convex_fusion(
    scores double precision[],
    weights double precision[]
)
RETURNS double precision
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.fusion.scores import convex_fusion

return convex_fusion([[score or 0.0] for score in scores], weights)[0]
$python$;
