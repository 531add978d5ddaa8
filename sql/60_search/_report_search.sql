-- _report_search: send a search's report to the setting log_address, as the role that asks.
-- Runs with its owner's rights, to reach the gateway's token. Role, query, collections and times
-- are not the caller's word (_send_report): a search that did not run as this role, or was told of
-- before, is not sent.
CREATE OR REPLACE FUNCTION pgblend._report_search(report jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM pgblend._send_report(
        report, pgblend._asking_role(), blend.get_setting('log_queries') #>> '{}',
        blend.get_setting('log_address') #>> '{}', current_setting('data_directory'));
END;
$function$;
