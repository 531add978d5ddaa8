-- _relay_views: make views of this coordinator show what they show on its shards.
-- Their columns stay as they are. Only the owner of the views may call it.
CREATE OR REPLACE FUNCTION pgblend._relay_views(names text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    relayed text;
    columns text;
BEGIN
    FOREACH relayed IN ARRAY names LOOP
        SELECT string_agg(
            format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attnum)
        INTO columns
        FROM pg_attribute AS a
        WHERE a.attrelid = format('blend.%I', relayed)::regclass AND a.attnum > 0;
        -- Calls in text: _view_rows (a view by name, its columns).
        EXECUTE format(
            'CREATE OR REPLACE VIEW blend.%I WITH (security_invoker = true) AS
            SELECT v.* FROM json_to_recordset(pgblend._view_rows(%L)) AS v (%s)',
            relayed, relayed, columns);
    END LOOP;
END;
$function$;
