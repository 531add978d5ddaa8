-- _delete_orphans: delete documents whose row is gone from the attached table, at most so many;
-- returns how many were looked at.
-- NULL for most means all. The attachment must be sound (_attachment_queries).
CREATE OR REPLACE FUNCTION pgblend._delete_orphans(
    attached pgblend_data.attached_table,
    most integer
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET timezone = 'UTC'
AS $function$
DECLARE
    keys text[] := ARRAY(
        SELECT d.source_key
        FROM pgblend_data.document AS d
        LEFT JOIN pgblend._attached_rows(attached, 'keys', NULL, NULL) AS r
            ON d.source_key = r.key
        WHERE d.collection_id = attached.collection_id AND r.key IS NULL
        ORDER BY d.source_key COLLATE "C"
        LIMIT most);
BEGIN
    PERFORM pgblend._claim_documents(attached, keys);
    PERFORM pgblend._apply_changes(attached, keys);
    RETURN cardinality(keys);
END;
$function$;
