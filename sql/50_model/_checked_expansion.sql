-- _checked_expansion: {lexicalQueries, vectorQueries, hyde} of an answer; NULL for another shape.
CREATE OR REPLACE FUNCTION pgblend._checked_expansion(answer jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/checked_expansion.py
import json
expansion = checked_expansion(json.loads(answer))
return expansion and json.dumps(expansion)
$python$;

COMMENT ON FUNCTION pgblend._checked_expansion(jsonb) IS
'{lexicalQueries, vectorQueries, hyde} of an answer; NULL for one of another shape.';
