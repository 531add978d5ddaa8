-- _missing_stages: what a mode asks for and cannot have: {stage: why}.
-- fast asks for nothing more than fusion, default for reranking, thorough for expansion of the
-- query too. There is no model for either yet.
CREATE OR REPLACE FUNCTION pgblend._missing_stages(mode text)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE mode
    WHEN 'thorough' THEN
        '{"expand": "no model is set for it", "rerank": "no model is set for it"}'::jsonb
    WHEN 'default' THEN '{"rerank": "no model is set for it"}'::jsonb
    ELSE '{}'::jsonb
END;

COMMENT ON FUNCTION pgblend._missing_stages(text) IS
'What a mode (fast, default, thorough) asks for and cannot have, and why: expand, rerank.';
