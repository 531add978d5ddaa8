-- _query_groups: a query's words, phrases and exclusions, as alternatives between `or`.
-- {"words": text, "groups": [{"words", "phrases", "excluded"}]}, by the operators of
-- websearch_to_tsquery. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._query_groups(query text)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.text.query import query_groups

return json.dumps(query_groups(query))
$python$;
