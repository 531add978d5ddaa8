-- _note_failure: keep why a collection's segments could not be written, and warn.
CREATE OR REPLACE FUNCTION pgblend._note_failure(collection_id bigint, message text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.lexical_failure (collection_id, message, failed_at)
    VALUES (collection_id, message, clock_timestamp())
    ON CONFLICT ON CONSTRAINT lexical_failure_pkey DO UPDATE
    SET message = excluded.message, failed_at = excluded.failed_at;
    RAISE WARNING 'the lexical index of collection % could not be written: %',
        collection_id, message
        USING HINT = 'The old segments go on serving; see lexical_status().';
END;
$function$;
