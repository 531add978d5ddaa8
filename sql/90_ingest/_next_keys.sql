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
STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO, YMD'
AS $function$
DECLARE
    key_list text;
    values_list text;
    text_list text;
BEGIN
    SELECT
        string_agg(format('t.%I', k.name), ', ' ORDER BY k.place),
        string_agg(format('$1[%s]::%s', k.place, format_type(c.atttypid, c.atttypmod)), ', '
            ORDER BY k.place),
        string_agg(format('t.%I::text', k.name), ', ' ORDER BY k.place)
    INTO key_list, values_list, text_list
    FROM unnest(attached.key_columns) WITH ORDINALITY AS k (name, place)
    INNER JOIN pg_attribute AS c
        ON c.attrelid = attached.relation AND c.attname = k.name AND NOT c.attisdropped;
    EXECUTE format(
        'SELECT array_agg(r.key), (array_agg(r.parts::text ORDER BY r.place DESC))[1]::text[]
        FROM (
            SELECT %1$s AS key, ARRAY[%2$s] AS parts, row_number() OVER (ORDER BY %3$s) AS place
            FROM %4$s AS t
            WHERE %5$s
            ORDER BY %3$s
            LIMIT $2
        ) AS r',
        (pgblend._attachment_sql(attached)).key_of, text_list, key_list, attached.relation,
        CASE WHEN attached.filled_to IS NULL THEN 'true'
            ELSE format('(%s) > (%s)', key_list, values_list) END)
    INTO keys, last_key USING attached.filled_to, batch_size;
END;
$function$;

COMMENT ON FUNCTION pgblend._next_keys(pgblend_data.attached_table, integer) IS
'The source keys of the next rows of an attached table to be brought in, and the key of the last '
'of them.';
