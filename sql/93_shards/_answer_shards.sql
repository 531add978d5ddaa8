-- _answer_shards: what this database, as a shard, answers to trips of a coordinator.
-- A row for each number as given: the answer to the trip, and to further calls of that shard
-- (plpy/shards/answer.py). Rows are those that the caller may see; nothing in the arguments is
-- trusted. The SET clauses are those of _run_search.
CREATE OR REPLACE FUNCTION pgblend._answer_shards(
    shards integer[], calls text[], trip text
)
RETURNS TABLE (shard integer, answer text)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
ROWS 1
SET "hnsw.ef_search" = 40
SET "hnsw.iterative_scan" = strict_order
SET "hnsw.max_scan_tuples" = 20000
SET enable_sort = on
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.shards.answer import answered

db.run("SELECT pgblend._check_addressed($1)", ["integer[]"], shards)
return [
    (number, db.answer(answered, trip, further))
    for number, further in zip(shards, calls, strict=True)
]
$python$;
