-- _websearch_query: what a query asks of the bodies of passages alone: all its words and phrases,
-- or those of one of its alternatives, and nothing that it excludes.
-- Words are those of _indexable_text, and have weight D: titles, headings and identifiers are not
-- looked at, but for single syllables and options of commands, which have C. NULL gives NULL; stop
-- words alone give an empty query, without a NOTICE.
CREATE OR REPLACE FUNCTION pgblend._websearch_query(config_name text, query text)
RETURNS tsquery
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET client_min_messages = warning
AS $python$
from pgblend.plpy.lexical.query import literal_condition

return literal_condition(db, query, config_name)
$python$;
