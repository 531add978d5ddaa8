-- _report_search: send a search's report to the setting log_address, as the session's role.
-- Runs with its owner's rights, to reach the gateway's token; address and role cannot be chosen.
CREATE OR REPLACE FUNCTION pgblend._report_search(report jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM pgblend._send_datagram(
        blend.get_setting('log_address') #>> '{}',
        report || jsonb_build_object('role', session_user),
        current_setting('data_directory'));
END;
$function$;

COMMENT ON FUNCTION pgblend._report_search(jsonb) IS
'Send a search''s report to the setting log_address, as the session''s role.';
