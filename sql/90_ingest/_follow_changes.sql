-- _follow_changes: _apply_changes for triggers: also where the session is a replica.
-- In an apply worker (session_replication_role) our own triggers and foreign keys would not fire.
CREATE OR REPLACE FUNCTION pgblend._follow_changes(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    replication_role text := current_setting('session_replication_role');
BEGIN
    IF keys IS NULL THEN
        RETURN;
    ELSIF replication_role = 'origin' THEN
        PERFORM pgblend._apply_changes(attached, keys);
    ELSE
        PERFORM set_config('session_replication_role', 'origin', true);
        PERFORM pgblend._apply_changes(attached, keys);
        PERFORM set_config('session_replication_role', replication_role, true);
    END IF;
END;
$function$;
