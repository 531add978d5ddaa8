-- _trigger_problems: which triggers an attached table lacks, or has disabled.
CREATE OR REPLACE FUNCTION pgblend._trigger_problems(attached pgblend_data.attached_table)
RETURNS TABLE (problem text)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 1
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN QUERY
    WITH wanted AS (
        SELECT attached.relation::oid AS relation, w.name
        FROM unnest(CASE WHEN attached.row_level THEN ARRAY['pgblend_rows']
            ELSE ARRAY['pgblend_delete', 'pgblend_insert', 'pgblend_update'] END) AS w (name)
        UNION ALL
        SELECT attached.relation, 'pgblend_truncate'
        UNION ALL
        SELECT p.relid, 'pgblend_truncate' FROM pg_partition_tree(attached.relation) AS p
        WHERE p.relid <> attached.relation
    )
    SELECT format('%s%s of %s',
        CASE WHEN t.oid IS NULL THEN 'there is no trigger ' ELSE 'disabled: ' END,
        w.name, w.relation::regclass)
    FROM wanted AS w
    LEFT JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = w.relation AND t.tgname = w.name
    WHERE t.oid IS NULL OR t.tgenabled = 'D' OR attached.row_level AND t.tgenabled <> 'A'
    UNION ALL
    SELECT format('%s is a subscriber''s, and its triggers fire for statements', attached.relation)
    WHERE NOT attached.row_level AND pgblend._needs_row_triggers(attached.relation)
    ORDER BY 1;
END;
$function$;
