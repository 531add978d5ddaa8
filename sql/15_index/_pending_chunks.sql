-- _pending_chunks: pending chunks by id, as plpy/lexical/pending.py reads them.
-- key is the id and the transaction that added the chunk, head its document, index, length,
-- own length and number of records.
CREATE OR REPLACE FUNCTION pgblend._pending_chunks(chunk_ids bigint[])
RETURNS TABLE (key bytea, text_search_config text, head bytea, records bytea)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        int8send(c.chunk_id) || xidsend(c.xmin) AS key,
        c.text_search_config,
        int8send(c.document_id) || int4send(c.chunk_index) || int4send(c.length)
        || int4send(c.own_length) || int4send(octet_length(c.records) / 14) AS head,
        c.records
    FROM pgblend_data.pending AS c
    WHERE c.chunk_id = ANY(chunk_ids);
END;
