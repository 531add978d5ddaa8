-- _missing_stages: which of the wanted stages there is no model for, and what to do: {stage: hint}.
-- `wanted` is what _wanted_stages gives. What the caller passes in (expansion, rerank_scores) needs
-- no model.
CREATE OR REPLACE FUNCTION pgblend._missing_stages(wanted jsonb, settings jsonb)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN (
        SELECT coalesce(jsonb_object_agg(s.stage, 'no model is set for it'), '{}')
        FROM (VALUES ('expand', 'expansion_model', 'expansion'),
            ('rerank', 'rerank_model', 'rerank_scores')) AS s (stage, model_setting, given)
        WHERE (wanted ->> s.stage)::boolean AND settings -> s.given = '{}'
            AND NOT EXISTS (
                SELECT FROM pgblend_data.setting AS m
                WHERE m.name = s.model_setting AND m.value <> 'null'));
END;
$function$;

COMMENT ON FUNCTION pgblend._missing_stages(jsonb, jsonb) IS
'Which of the wanted stages (expand, rerank) there is no model for: {stage: why}.';
