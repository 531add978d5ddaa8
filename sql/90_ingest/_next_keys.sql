-- _next_keys: the source keys of the next rows of an attached table to be brought in, and the key
-- of the last of them.
-- In the order of the key columns, which an index gives, after filled_to. No rows: keys is NULL.
CREATE OR REPLACE FUNCTION pgblend._next_keys(
    attached pgblend_data.attached_table,
    batch_size integer,
    OUT keys text[],
    OUT last_key text[]
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO, YMD'
AS $function$
BEGIN
    SELECT
        array_agg(r.key ORDER BY r.place),
        (array_agg(r.parts::text ORDER BY r.place DESC))[1]::text[]
    INTO keys, last_key
    FROM pgblend._attached_rows(attached, 'next', attached.filled_to, batch_size)
        WITH ORDINALITY AS r (key, parts, title, content, metadata, uri, modified_at, targets, place);
END;
$function$;
