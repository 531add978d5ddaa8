-- _blend_score: blend_scores of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._blend_score(
    fused double precision,
    rerank double precision,
    rank integer,
    blend jsonb,
    candidates integer
)
RETURNS double precision
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.search.rerank import blend_scores

return blend_scores([fused], [rerank], json.loads(blend), [rank], candidates)[0]
$python$;

-- blend_scores: one item's fused and rerank scores blended by its fused rank.
-- {"kind": "tiers", "tiers": [{"max_rank": 3, "fused": 0.75, "rerank": 0.25}, …]}: the first tier
-- that reaches the rank, or else the last, gives the weights (max_rank null: to the end).
-- {"kind": "position", "rerank": 0.5, "fused": 0.3, "position": 0.2}: with 1 - (rank - 1) /
-- `candidates` as a third part, candidates being how many were reranked. The blend is the mean by
-- these weights. A NULL blend is the default of the setting. A NULL rerank score (not reranked)
-- leaves the fused score; a NULL fused score gives NULL. Ranks under 1 or beyond candidates,
-- scores that are not finite and a blend of another shape are errors. Formula:
-- plpy/search/rerank.py.
CREATE OR REPLACE FUNCTION blend.blend_scores(
    fused double precision,
    rerank double precision,
    rank integer,
    blend jsonb DEFAULT NULL,
    candidates integer DEFAULT NULL
)
RETURNS double precision
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    given jsonb := coalesce(nullif(blend, 'null'), (
        SELECT c.default_value FROM blend.setting_catalog() AS c WHERE c.name = 'blend'));
    problem text := pgblend._setting_error('blend', given);
BEGIN
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION 'blend is %: %', left(given::text, 200), problem
            USING ERRCODE = '22023',
            HINT = 'SELECT default_value FROM blend.setting_catalog() WHERE name = ''blend''';
    ELSIF rank IS NULL OR rank < 1 OR rank > candidates THEN
        RAISE EXCEPTION 'rank is %: expected a number from 1 to candidates, which is %',
            coalesce(rank::text, 'NULL'), coalesce(candidates::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'It is the place in the order of the fused scores.';
    ELSIF candidates IS NULL AND given ->> 'kind' = 'position' THEN
        RAISE EXCEPTION 'candidates is NULL: a blend by position needs the number of reranked rows'
            USING ERRCODE = '22023', HINT = 'For example: candidates => count(*) OVER ()';
    ELSIF NOT fused BETWEEN -1e100 AND 1e100 OR NOT rerank BETWEEN -1e100 AND 1e100 THEN
        RAISE EXCEPTION 'scores are % and %: expected finite numbers to 1e100', fused, rerank
            USING ERRCODE = '22023', HINT = 'Use NULL for a row that was not reranked.';
    ELSIF fused IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN pgblend._blend_score(fused, rerank, rank, given, coalesce(candidates, rank));
END;
$function$;
