-- convex_fusion: one item's normalised scores as their weighted mean: Σ weight · score / Σ weight.
-- A NULL score (the item is not in that list) counts as 0. NULL weights are all 1; weights that are
-- all 0, and no scores, give 0. Negative or infinite weights, infinite scores and unequal lengths
-- are errors. The formula is that of plpy/convex_fusion.py, bit for bit.
CREATE OR REPLACE FUNCTION pgblend.convex_fusion(
    scores double precision[],
    weights double precision[] DEFAULT NULL
)
RETURNS double precision
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    terms double precision[] := '{}';
    total double precision;
BEGIN
    IF weights IS NULL THEN
        weights := array_fill(1::double precision, ARRAY[coalesce(cardinality(scores), 0)]);
    ELSIF cardinality(weights) IS DISTINCT FROM cardinality(scores) THEN
        RAISE EXCEPTION 'there are % scores and % weights',
            coalesce(cardinality(scores)::text, 'NULL'), cardinality(weights)
            USING ERRCODE = '22023', HINT = 'Give one weight for each score, or NULL for all 1.';
    END IF;
    FOR i IN 1..coalesce(cardinality(scores), 0) LOOP
        IF weights[i] IS NULL OR weights[i] < 0 OR weights[i] >= 'Infinity'
            OR scores[i] IN ('-Infinity', 'Infinity', 'NaN')
        THEN
            RAISE EXCEPTION 'score % has weight %: expected a finite score and a weight from 0',
                coalesce(scores[i]::text, 'NULL'), coalesce(weights[i]::text, 'NULL')
                USING ERRCODE = '22023', HINT = 'Use NULL for a list that lacks the item.';
        END IF;
        terms[i] := coalesce(weights[i] * scores[i], 0);
    END LOOP;
    total := pgblend._sum_ascending(weights);
    RETURN CASE WHEN total > 0 THEN pgblend._sum_ascending(terms) / total ELSE 0 END;
END;
$function$;

COMMENT ON FUNCTION pgblend.convex_fusion(double precision[], double precision[]) IS
'One item''s normalised scores (normalize_scores) as their weighted mean, NULL counting as 0: in '
'[0, 1] where the scores are (Bruch, Gai and Ingber 2023).';
