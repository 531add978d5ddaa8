-- _why_not: why a stage that asks models (expand, rerank) is not wanted, for people.
CREATE OR REPLACE FUNCTION pgblend._why_not(stage text, settings jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN settings ->> stage IN ('off', 'false') THEN 'by the setting ' || stage
    ELSE 'by the mode ' || (settings ->> 'mode')
END;
