-- _claim_index: let this transaction write a collection's lexical index; 42501 unless the caller
-- may write to the collection.
-- Row security decides, as of whoever calls. What writes the index runs with its owner's rights and
-- knows no caller: it asks for the claim (_check_index_claim).
CREATE OR REPLACE FUNCTION pgblend._claim_index(collection_id bigint)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    INSERT INTO pgblend_data.index_claim (collection_id, transaction_id)
    VALUES (_claim_index.collection_id, pg_current_xact_id())
    ON CONFLICT ON CONSTRAINT index_claim_pkey
    DO UPDATE SET transaction_id = excluded.transaction_id;
END;

COMMENT ON FUNCTION pgblend._claim_index(bigint) IS
'Let this transaction write a collection''s lexical index; 42501 unless the caller may write to '
'the collection.';
