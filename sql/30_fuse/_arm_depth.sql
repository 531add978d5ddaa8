-- _arm_depth: candidates that an arm is asked for: candidate_depth, or as over_fetch says.
-- `wanted` is offset + limit; a variant is a list of an expanded query. Takes settings in force.
CREATE OR REPLACE FUNCTION pgblend._arm_depth(
    settings jsonb,
    wanted integer,
    reranked boolean,
    variant boolean
)
RETURNS integer
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/arm_depth.py
import json
given = json.loads(settings)
return arm_depth(given["over_fetch"], given["candidate_depth"], wanted, reranked, variant)
$python$;

COMMENT ON FUNCTION pgblend._arm_depth(jsonb, integer, boolean, boolean) IS
'Candidates that an arm is asked for: candidate_depth, or as the setting over_fetch says.';
