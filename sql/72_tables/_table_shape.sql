-- _table_shape: what the SQL that is kept of an attached table follows from: names and types of the
-- table's columns, its foreign keys, its owner; NULL where it is gone.
CREATE OR REPLACE FUNCTION pgblend._table_shape(relation oid)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN (
        SELECT md5(concat_ws(' ', c.relkind, c.relowner, (
                SELECT string_agg(concat(a.attnum, ' ', a.atttypid::bigint, ' ', a.attname), E'\n'
                    ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            ), (
                SELECT string_agg(concat(n.oid, ' ', n.conname), E'\n' ORDER BY n.oid)
                FROM pg_catalog.pg_constraint AS n WHERE n.conrelid = c.oid AND n.contype = 'f')))
        FROM pg_catalog.pg_class AS c WHERE c.oid = _table_shape.relation);
END;
$function$;
