-- _blend_scores: blend_scores of many items at once, best fused score first.
CREATE OR REPLACE FUNCTION pgblend._blend_scores(
    fused double precision[],
    rerank double precision[],
    blend jsonb
)
RETURNS double precision[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/blend_scores.py
import json
return blend_scores(fused, rerank, json.loads(blend))
$python$;

COMMENT ON FUNCTION pgblend._blend_scores(double precision[], double precision[], jsonb) IS
'blend_scores of many items at once, best fused score first.';
