-- _merged_metadata: metadata with changes laid over it; a key whose change is a JSON null is left
-- out.
-- NULL changes nothing; NULL metadata stays NULL.
CREATE OR REPLACE FUNCTION pgblend._merged_metadata(metadata jsonb, changes jsonb)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN changes IS NULL THEN metadata
    ELSE (metadata || changes) - ARRAY(
        SELECT e.key FROM jsonb_each(changes) AS e
        WHERE e.value = 'null'
    )
END;
