-- _blend_score: blend_scores of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._blend_score(
    fused double precision,
    rerank double precision,
    rank integer,
    blend jsonb,
    candidates integer
)
RETURNS double precision
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.refine.blend import blend_scores

return blend_scores([fused], [rerank], json.loads(blend), [rank], candidates)[0]
$python$;
