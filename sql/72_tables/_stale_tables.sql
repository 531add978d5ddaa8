-- _stale_tables: attached tables that are to be filled, and whether with all rows anew: those whose
-- partitions came or went, and those that are not filled yet.
-- Only those that the caller may fill.
CREATE OR REPLACE FUNCTION pgblend._stale_tables()
RETURNS TABLE (table_name text, anew boolean)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY
    SELECT a.relation::text, pgblend._partition_changes(a) IS NOT NULL
    FROM pgblend_data.attached_table AS a
    WHERE (NOT a.filled OR pgblend._partition_changes(a) IS NOT NULL)
        AND pgblend._may_read_rows(pgblend._asking_role(), a.relation)
        AND (pgblend._attachment_queries(a)).problem IS NULL
    ORDER BY a.id;
END;
$function$;
