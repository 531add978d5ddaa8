-- _lock_segments: become the one who writes a collection's segments until the transaction ends; an
-- error where another session is.
CREATE OR REPLACE FUNCTION pgblend._lock_segments(collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF NOT pgblend._claim_index(collection_id) THEN
        RAISE EXCEPTION 'another session writes the lexical index of this collection'
            USING ERRCODE = '55P03', HINT = 'Try again when it has finished: lexical_status().';
    END IF;
END;
$function$;
