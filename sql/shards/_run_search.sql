-- _run_search: one search as the program runs it (search/run.py), its passages on shards.
-- Arguments are those of _search; started_at is in seconds since 1970, and tries, which _search
-- hands on, says how often the search was begun. results are NULL-free rows, best first; trace and
-- report are NULL where nobody asks for them. Whoever may search may call it: nothing in its
-- arguments is trusted.
CREATE OR REPLACE FUNCTION pgblend._run_search(
    query text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector,
    only_arm text,
    traced text,
    started_at double precision,
    tries jsonb,
    OUT results blend.search_result[],
    OUT trace jsonb,
    OUT report jsonb
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.search.stages import Request, Tries
from pgblend.plpy.shards.search import search_shards

return db.answer(search_shards, Request(
    query, result_limit, collections, filter, profile, options, query_embedding, only_arm, traced,
    started_at, Tries.read(tries)))
$python$;
