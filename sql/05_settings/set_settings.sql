-- set_settings: set several values for the whole database, all or none of them; they hold from the
-- next search on.
-- A JSON null puts the default back. Unknown names, wrong values and chunk sizes that do not fit
-- together are errors, and names that the server's configuration pins (_setting_values). NULL and
-- {} change nothing. Members of pgblend_admin may.
CREATE OR REPLACE FUNCTION blend.set_settings(settings jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    pinned text := (
        SELECT min(v.name) FROM pgblend._setting_values AS v
        WHERE v.source = 'server' AND settings ? v.name);
BEGIN
    IF pinned IS NOT NULL THEN
        RAISE EXCEPTION '% is pinned by the server''s configuration', pinned
            USING ERRCODE = '42501', HINT = format(
                'A superuser changes it: ALTER ROLE ALL SET pgblend.%1$s = ''…'', or RESET '
                'pgblend.%1$s; of one database: ALTER DATABASE.', pinned);
    END IF;
    PERFORM pgblend._check_settings(settings, ARRAY['search', 'collection', 'server'], 'settings');
    DELETE FROM pgblend_data.setting AS s
    USING jsonb_each(settings) AS e
    WHERE e.key = s.name AND e.value = 'null';
    INSERT INTO pgblend_data.setting (name, value)
    SELECT e.key, e.value FROM jsonb_each(settings) AS e
    WHERE e.value <> 'null'
    ORDER BY e.key
    ON CONFLICT ON CONSTRAINT setting_pkey DO UPDATE
    SET value = excluded.value, changed_by = DEFAULT, changed_at = DEFAULT;
    PERFORM pgblend._check_chunk_sizes(pgblend._collection_settings('{}'));
END;
$function$;
