-- _orphan_keys: source keys of documents whose row is gone from the attached table, in their order;
-- NULL where there are none.
-- NULL for most means all. The attachment must be sound (_attachment_queries).
CREATE OR REPLACE FUNCTION pgblend._orphan_keys(
    attached pgblend_data.attached_table,
    most integer
)
RETURNS text[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET timezone = 'UTC'
AS $function$
BEGIN
    RETURN (
        SELECT array_agg(o.source_key) FROM (
            SELECT d.source_key
            FROM pgblend_data.document AS d
            LEFT JOIN pgblend._attached_rows(attached, 'keys', NULL, NULL) AS r
                ON d.source_key = r.key
            WHERE d.collection_id = attached.collection_id AND r.key IS NULL
            ORDER BY d.source_key COLLATE "C"
            LIMIT most) AS o);
END;
$function$;
