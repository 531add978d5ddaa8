-- _parse_query: what a query means under one text search configuration (plpy/lexical/query.py).
-- `lexemes` rank, any of them, in byte order; `boosts` says how many times its idf each weighs.
-- A blank query, or one of stop words only, has no lexemes; `stop_words` are left out beside the
-- configuration's own. `operands` are the phrases and exclusions that must hold (_query_condition),
-- with the number of the alternative of each; empty where anything passes.
CREATE OR REPLACE FUNCTION pgblend._parse_query(
    query text,
    config_name text,
    stop_words text[] DEFAULT '{}',
    OUT lexemes text[],
    OUT boosts double precision[],
    OUT alternatives integer[],
    OUT operands tsquery[],
    OUT exclusions boolean[]
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.lexical.query import parse_query

parsed = parse_query(db, query, config_name, stop_words)
return parsed.lexemes, parsed.boosts, *parsed.columns()
$python$;
