-- _normalize_scores: normalize_scores of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._normalize_scores(
    scores double precision[],
    method text,
    parameters jsonb
)
RETURNS double precision[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.fusion.scores import normalize_scores

return normalize_scores(scores, method, json.loads(parameters))
$python$;
