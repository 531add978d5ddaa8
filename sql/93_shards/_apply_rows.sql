-- _apply_rows: bring documents of this shard up to date with rows of an attached table.
-- keys are all that are looked at, rows those of them that are there (pgblend_data.attached_row). A
-- second time nothing changes. _claim_rows was called before the rows were read.
CREATE OR REPLACE FUNCTION pgblend._apply_rows(collection_id bigint, keys text[], rows jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection;
BEGIN
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = _apply_rows.collection_id;
    PERFORM pgblend._store_rows(target, keys, ARRAY(
        SELECT r FROM jsonb_populate_recordset(NULL::pgblend_data.attached_row, rows) AS r));
END;
$function$;
