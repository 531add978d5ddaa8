-- _diagnosis: search_diagnose of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._diagnosis(
    query text,
    document text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector
)
RETURNS jsonb
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.search.diagnosis import diagnosis
from pgblend.plpy.search.diagnosis_facts import Call
from pgblend.plpy.search.node import StoreNode

return db.answer(diagnosis, Call(
    query, document, result_limit, collections, filter, profile, options, query_embedding),
    StoreNode(db))
$python$;
