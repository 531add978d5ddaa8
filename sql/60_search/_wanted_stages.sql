-- _wanted_stages: which of the stages that ask models a search wants: {"expand", "rerank"}.
-- By the settings expand and rerank; where they are auto, what the caller passes in is wanted
-- (expansion, rerank_scores), else the mode decides: fast, api and tool want neither, default
-- wants rerank, thorough and agent both.
CREATE OR REPLACE FUNCTION pgblend._wanted_stages(settings jsonb)
RETURNS jsonb
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN jsonb_build_object(
        'expand', CASE settings ->> 'expand'
            WHEN 'on' THEN true WHEN 'true' THEN true WHEN 'off' THEN false WHEN 'false' THEN false
            ELSE settings -> 'expansion' <> '{}' OR settings ->> 'mode' IN ('thorough', 'agent')
        END,
        'rerank', CASE settings ->> 'rerank'
            WHEN 'on' THEN true WHEN 'true' THEN true WHEN 'off' THEN false WHEN 'false' THEN false
            ELSE settings -> 'rerank_scores' <> '{}'
                OR settings ->> 'mode' IN ('default', 'thorough', 'agent')
        END);
END;
$function$;
