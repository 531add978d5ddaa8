-- _checked_expansion: {lexicalQueries, vectorQueries, hyde} of an answer; NULL for another shape.
CREATE OR REPLACE FUNCTION pgblend._checked_expansion(answer jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.models.expansion import checked_expansion

expansion = checked_expansion(json.loads(answer))
return expansion and json.dumps(expansion)
$python$;
