-- _chunk_add_pending: trigger that makes new chunks findable by their words in the same
-- transaction.
-- Runs with its owner's rights: writers have none on the index. The rows are the statement's own.
CREATE OR REPLACE FUNCTION pgblend._chunk_add_pending()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    INSERT INTO pgblend_data.pending (
        chunk_id, document_id, collection_id, bucket, chunk_index, text_search_config, length,
        own_length, records)
    SELECT c.id, c.document_id, c.collection_id, c.bucket, c.chunk_index, c.text_search_config,
        c.length, c.own_length, pgblend._pack_vector(tsvectorsend(c.lexemes), c.own_position)
    FROM new_chunk AS c;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_40_index_pending AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_add_pending();
