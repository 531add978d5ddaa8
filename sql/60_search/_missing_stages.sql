-- _missing_stages: which of the wanted stages there is no model for, and what to do: {stage: hint}.
-- `wanted` is what _wanted_stages gives, `of_database` what is set for the database. What a caller
-- passes in (expansion, rerank_scores) needs no model.
CREATE OR REPLACE FUNCTION pgblend._missing_stages(
    wanted jsonb,
    settings jsonb,
    of_database jsonb
)
RETURNS jsonb
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN (
        SELECT coalesce(jsonb_object_agg(s.stage, 'no model is set for it'), '{}')
        FROM (VALUES ('expand', 'expansion_model', 'expansion'),
            ('rerank', 'rerank_model', 'rerank_scores')) AS s (stage, model_setting, given)
        WHERE (wanted ->> s.stage)::boolean AND settings -> s.given = '{}'
            AND of_database ->> s.model_setting IS NULL);
END;
$function$;
