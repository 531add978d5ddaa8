-- _table_changed: trigger on attached tables that brings the documents of changed rows up to date.
-- Fires for each statement with the tables new_rows and old_rows, or for each row. An update that
-- changes nothing of what the index takes is passed over. Runs with its owner's rights, so that who
-- may write the table need have none here. Of rows it evaluates nothing but the output functions
-- of their types, to learn the keys; the table is read with the rights of its own owner. Where a
-- column is gone, a WARNING names it, the attachment remembers, and the write goes on.
CREATE OR REPLACE FUNCTION pgblend._table_changed()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    attached pgblend_data.attached_table :=
        pgblend._triggered_attachment(TG_ARGV[0]::integer, TG_RELID);
    how record;
    query text;
    each_row CONSTANT boolean := TG_LEVEL = 'ROW';
    keys text[];
BEGIN
    IF attached.id IS NULL THEN
        RETURN NULL;
    END IF;
    how := pgblend._attachment_queries(attached);
    IF how.problem IS NOT NULL THEN
        PERFORM pgblend._note_attachment_problem(attached.id, how.problem);
        RETURN NULL;
    ELSIF TG_OP = 'UPDATE' THEN
        query := format(
            'SELECT array_agg(key) FROM (SELECT %1$s AS key, %2$s AS relevant FROM %3$s AS t) AS o
            FULL JOIN (SELECT %1$s AS key, %2$s AS relevant FROM %4$s AS t) AS n USING (key)
            WHERE o.relevant IS DISTINCT FROM n.relevant',
            how.key_of, how.relevant,
            CASE WHEN each_row THEN '(SELECT ($1).*)' ELSE 'old_rows' END,
            CASE WHEN each_row THEN '(SELECT ($2).*)' ELSE 'new_rows' END);
    ELSE
        query := format('SELECT array_agg(%s) FROM %s AS t', how.key_of,
            CASE WHEN each_row THEN '(SELECT ($1).*)'
                WHEN TG_OP = 'INSERT' THEN 'new_rows' ELSE 'old_rows' END);
    END IF;
    IF NOT each_row THEN
        EXECUTE query INTO keys;
    ELSIF TG_OP = 'INSERT' THEN
        EXECUTE query INTO keys USING NEW;
    ELSIF TG_OP = 'DELETE' THEN
        EXECUTE query INTO keys USING OLD;
    ELSE
        EXECUTE query INTO keys USING OLD, NEW;
    END IF;
    PERFORM pgblend._follow_changes(attached, keys);
    RETURN NULL;
END;
$function$;
