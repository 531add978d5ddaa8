-- _collection_settings: every setting of scope collection in force for one collection.
CREATE OR REPLACE FUNCTION pgblend._collection_settings(settings jsonb)
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_object_agg(
        c.name,
        coalesce(
            nullif(_collection_settings.settings -> c.name, 'null'), s.value, c.default_value
        )
    )
    FROM pgblend.setting_catalog() AS c
    LEFT JOIN pgblend_data.setting AS s ON c.name = s.name
    WHERE c.scope = 'collection';
END;

COMMENT ON FUNCTION pgblend._collection_settings(jsonb) IS
'Every setting of scope collection in force: the collection''s own > database > default.';
