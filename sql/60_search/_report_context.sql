-- _report_context: send the report of a search whose passages went into a context, with what the
-- context took of them.
-- `report` is what _search gives back, NULL where searches are not logged: then nothing is sent.
-- Traced or not, its purpose is search, where the session names none.
-- budget_used is in tokens; files_touched and dedup_ratio are those of the context.
CREATE OR REPLACE FUNCTION pgblend._report_context(report jsonb, stats jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF report IS NOT NULL THEN
        PERFORM pgblend._report_search(report || jsonb_build_object(
            'purpose', left(
                coalesce(nullif(current_setting('pgblend.purpose', true), ''), 'search'), 40),
            'trace', report -> 'trace' || jsonb_strip_nulls(jsonb_build_object(
                'budget_used', stats -> 'tokens',
                'files_touched', stats -> 'files',
                'dedup_ratio', stats -> 'duplication_ratio'))));
    END IF;
END;
$function$;
