-- _websearch_text: a query for websearch_to_tsquery, its words as the parser got them of passages.
-- NULL gives NULL. Operators stay; what becomes several words is a phrase.
CREATE OR REPLACE FUNCTION pgblend._websearch_text(query text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.query import websearch_text

return websearch_text(query)
$python$;
