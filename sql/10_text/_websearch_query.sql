-- _websearch_query: a query as websearch_to_tsquery reads it, asking the bodies of passages alone.
-- Words are those of _indexable_text, and have weight D: titles, headings and identifiers are not
-- looked at. NULL gives NULL; stop words alone give an empty query, without a NOTICE.
CREATE OR REPLACE FUNCTION pgblend._websearch_query(config_name text, query text)
RETURNS tsquery
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET client_min_messages = warning
AS $python$
from pgblend.plpy.text.query import websearch_text

return db.run(
    "SELECT regexp_replace(websearch_to_tsquery(pgblend._regconfig($1), $2)::text,"
    " '(''([^'']|'''')*'')', '\\1:D', 'g') AS condition",
    ["text", "text"], config_name, websearch_text(query))[0]["condition"]
$python$;
