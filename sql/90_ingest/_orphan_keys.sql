-- _orphan_keys: source keys of documents whose row is gone from the attached table, in their order;
-- NULL where there are none.
-- NULL for most means all. The attachment must be sound (_attachment_sql).
CREATE OR REPLACE FUNCTION pgblend._orphan_keys(
    attached pgblend_data.attached_table,
    most integer
)
RETURNS text[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $function$
DECLARE
    keys text[];
BEGIN
    EXECUTE format(
        'SELECT array_agg(o.source_key) FROM (
            SELECT d.source_key
            FROM pgblend_data.document AS d
            WHERE d.collection_id = $1
                AND NOT EXISTS (SELECT FROM %s AS t WHERE %s = d.source_key)
            ORDER BY d.source_key COLLATE "C"
            LIMIT $2) AS o',
        attached.relation, (pgblend._attachment_sql(attached)).key_of)
    INTO keys USING attached.collection_id, most;
    RETURN keys;
END;
$function$;

COMMENT ON FUNCTION pgblend._orphan_keys(pgblend_data.attached_table, integer) IS
'Source keys of documents whose row is gone from the attached table; NULL where there are none.';
