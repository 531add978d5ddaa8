-- _approximate_tokens: about how many cl100k_base tokens a text has; the server has no tokenizer.
CREATE OR REPLACE FUNCTION pgblend._approximate_tokens(content text)
RETURNS integer
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
from pgblend.plpy.text.tokens import approximate_tokens

return approximate_tokens(content)
$python$;

-- _insert_chunks: add chunks to documents, in the order given; returns how many.
-- A chunk's `document` is the place of its document among document_ids, from 1; those of a NULL, or
-- of a document that is not there, are left out. Each document's chunk_index begins at first_index.
CREATE OR REPLACE FUNCTION pgblend._insert_chunks(
    document_ids bigint[],
    chunks pgblend_data.given_chunk[],
    first_index integer
)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    added integer;
BEGIN
    INSERT INTO pgblend_data.chunk (
        document_id, chunk_index, collection_id, bucket, content, heading, kind, own_start,
        start_offset, end_offset, start_line, end_line, pages, token_count, piece_tokens, metadata,
        text_search_config, lexemes, length, own_position, own_length)
    SELECT
        d.id,
        first_index - 1 + row_number() OVER (PARTITION BY d.id ORDER BY n.ordinality),
        d.collection_id, d.bucket, n.content, n.heading, coalesce(n.kind, 'doc'),
        coalesce(n.own_start, 0), n.start_offset, n.end_offset, n.start_line, n.end_line, n.pages,
        coalesce(n.token_count, pgblend._approximate_tokens(n.content)),
        n.piece_tokens, coalesce(n.metadata, '{}'), d.text_search_config, '', 0, 0, 0
    FROM unnest(chunks) WITH ORDINALITY AS n
    INNER JOIN pgblend_data.document AS d ON d.id = document_ids[n.document]
    ORDER BY d.id, n.ordinality;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END;
$function$;
