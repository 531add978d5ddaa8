-- _snippets: the best part of each passage as HTML: text escaped, words that match its query in
-- <mark>.
-- The arrays have an element for each passage. A query without lexemes gives the beginning.
CREATE OR REPLACE FUNCTION pgblend._snippets(
    contents text[],
    queries text[],
    config_names text[]
)
RETURNS text[]
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.session import prepared_statements
from pgblend.plpy.text.snippets import page_snippets

run = prepared_statements(plpy.prepare, SD.setdefault("statements", {}))
return page_snippets(run, contents, queries, config_names)
$python$;
