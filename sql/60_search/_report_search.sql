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
DECLARE
    in_force jsonb := pgblend._setting_defaults('server') || (
        SELECT coalesce(jsonb_object_agg(s.name, s.value), '{}') FROM pgblend._setting_values AS s
        WHERE s.name IN ('log_address', 'log_queries'));
BEGIN
    PERFORM pgblend._send_report(
        report, pgblend._asking_role(),
        pgblend._milliseconds(statement_timestamp(), clock_timestamp()),
        in_force ->> 'log_queries', in_force ->> 'log_address', current_setting('data_directory'));
END;
$function$;
