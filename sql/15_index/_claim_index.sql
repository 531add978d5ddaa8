-- _claim_index: become the one who writes a collection's lexical index until the transaction ends;
-- false where another session is, 42501 unless the caller may write to the collection.
-- The lock is a row's, which row security lets only writers of the collection take; whoever calls
-- is known here alone. What writes the index runs with its owner's rights and asks for the claim
-- (_check_index_claim).
CREATE OR REPLACE FUNCTION pgblend._claim_index(collection_id bigint)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM FROM pgblend_data.index_claim AS c
    WHERE c.collection_id = _claim_index.collection_id
    FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE pgblend_data.index_claim AS c
        SET transaction_id = pg_current_xact_id()
        WHERE c.collection_id = _claim_index.collection_id;
        RETURN true;
    ELSIF NOT pgblend._may_write(collection_id) THEN
        RAISE EXCEPTION 'the lexical index of collection % is not the caller''s to write',
            coalesce(collection_id::text, 'NULL')
            USING ERRCODE = '42501', HINT = 'Who may write to it: grant_collection.';
    END IF;
    RETURN false;
END;
$function$;
