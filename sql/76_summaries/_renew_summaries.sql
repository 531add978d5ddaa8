-- _renew_summaries: queue documents whose summary is of another model or prompt than made_by;
-- returns how many.
-- Old summaries serve until the new ones come; those set by hand stay. Documents that were given up
-- are tried again. NULL collection means all; an unknown one is an error.
CREATE OR REPLACE FUNCTION pgblend._renew_summaries(made_by text, collection text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    asked bigint := CASE WHEN collection IS NOT NULL
        THEN (pgblend._named_collection(collection)).id END;
    renewed bigint;
BEGIN
    UPDATE pgblend_data.document_summary AS m
    SET outdated = m.summary IS NOT NULL, failures = 0, reason = NULL
    WHERE (asked IS NULL OR m.collection_id = asked)
        AND (m.failures >= 3 OR NOT m.outdated AND m.summary <> '' AND m.key IS NOT NULL
            AND m.made_by IS DISTINCT FROM _renew_summaries.made_by);
    GET DIAGNOSTICS renewed = ROW_COUNT;
    IF renewed > 0 THEN
        PERFORM pgblend._wake_workers();
    END IF;
    RETURN renewed;
END;
$function$;
