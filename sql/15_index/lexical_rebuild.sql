-- lexical_rebuild: make the lexical index of a collection anew from the chunks' tsvectors; returns
-- how many chunks it holds.
-- Readers see the old index until the transaction commits. 55P03 where another session seals. 0
-- without numpy (a NOTICE says so). NULL where it failed: lexical_status() says why, and the old
-- index goes on serving.
CREATE OR REPLACE FUNCTION blend.lexical_rebuild(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._writable_collection(collection);
BEGIN
    IF NOT pgblend._check_can_index() THEN
        RETURN 0;
    END IF;
    RETURN pgblend._index_collection(target.id, 'rebuild', 1);
END;
$function$;
