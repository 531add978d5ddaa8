-- _partition_changes: which partitions an attached table got or lost since all its rows were read;
-- NULL where none.
CREATE OR REPLACE FUNCTION pgblend._partition_changes(attached pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    parts regclass[] := pgblend._partitions(attached.relation);
BEGIN
    RETURN nullif(concat_ws('; ',
        'partitions came, with rows that may not be indexed: ' || (
            SELECT string_agg(p.part::text, ', ' ORDER BY p.part::text)
            FROM unnest(parts) AS p (part) WHERE p.part <> ALL(attached.partitions)),
        (SELECT format('%s partitions went: their rows are still found', count(*))
            FROM unnest(attached.partitions) AS p (part) WHERE p.part <> ALL(parts)
            HAVING count(*) > 0)), '');
END;
$function$;
