-- _check_index_claim: raise 42501 unless this transaction claimed a collection's lexical index.
-- age() is above 0 for a row that an earlier transaction wrote, whatever a restored one says.
CREATE OR REPLACE FUNCTION pgblend._check_index_claim(collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pgblend_data.index_claim AS c
        WHERE c.collection_id = _check_index_claim.collection_id
            AND c.transaction_id = pg_current_xact_id()
            AND age(c.xmin) <= 0)
    THEN
        RAISE EXCEPTION 'this transaction may not write the lexical index of collection %',
            coalesce(collection_id::text, 'NULL')
            USING ERRCODE = '42501', HINT = 'Call lexical_seal or lexical_rebuild.';
    END IF;
END;
$function$;
