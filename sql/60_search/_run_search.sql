-- _run_search: one search as the program runs it (search/run.py), all of it under one snapshot.
-- Arguments are those of _search; started_at is in seconds since 1970, and tries, which _search
-- hands on, says how often the search was begun. results are NULL-free rows, best first; trace and
-- report are NULL where nobody asks for them. Whoever may search may call it: nothing in its
-- arguments is trusted. The SET clauses hold for what the vector arm scans, and put back the
-- caller's values of what it sets.
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
SET "hnsw.ef_search" = 40
SET "hnsw.iterative_scan" = strict_order
SET "hnsw.max_scan_tuples" = 20000
SET enable_sort = on
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.stages import Request, Tries
from pgblend.plpy.search.run import search

return db.answer(search, Request(
    query, result_limit, collections, filter, profile, options, query_embedding, only_arm, traced,
    started_at, Tries.read(tries)), StoreNode(db))
$python$;
