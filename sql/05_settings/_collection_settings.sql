-- _collection_settings: every setting of scope collection in force for one collection.
-- plpgsql keeps its plan: making that of the catalogue anew takes longer than a small ingest.
CREATE OR REPLACE FUNCTION pgblend._collection_settings(settings jsonb)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN (
        SELECT jsonb_object_agg(c.name, coalesce(
            nullif(settings -> c.name, 'null'), s.value, c.default_value))
        FROM blend.setting_catalog() AS c
        LEFT JOIN pgblend_data.setting AS s ON c.name = s.name
        WHERE c.scope = 'collection');
END;
$function$;
