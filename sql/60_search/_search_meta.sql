-- _search_meta: what a search was, in four facts: {mode, expanded, reranked, vectorsUsed}.
-- mode is bm25, vector or fuzzy of one arm alone, else hybrid, or bm25_only where no vectors were
-- searched. `settings` is the plan (_search_plan), `stages` those of the trace; NULL: none ran.
CREATE OR REPLACE FUNCTION pgblend._search_meta(settings jsonb, stages jsonb)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT jsonb_build_object(
    'mode', CASE
        WHEN settings ->> 'only_arm' = 'lexical' THEN 'bm25'
        WHEN settings ->> 'only_arm' IS NOT NULL THEN settings ->> 'only_arm'
        WHEN ran.names ? 'vector' THEN 'hybrid'
        ELSE 'bm25_only' END,
    'expanded', coalesce((ran.names ->> 'expand')::integer > 0, false),
    'reranked', coalesce((ran.names ->> 'rerank')::integer > 0, false),
    'vectorsUsed', ran.names ? 'vector')
FROM (
    SELECT coalesce(jsonb_object_agg(s.value ->> 'name', s.value -> 'rows'), '{}') AS names
    FROM jsonb_array_elements(stages) AS s
    WHERE NOT s.value ? 'skipped'
) AS ran;
END;
