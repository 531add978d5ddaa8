-- _snippets: the best part of each passage as HTML, at most 250 characters: text escaped, words
-- that match its query in <mark>.
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
from pgblend.plpy.lexical.snippets import Sought, page_snippets

sought = [Sought(query) for query in queries]
return page_snippets(db, contents, sought, config_names)
$python$;
