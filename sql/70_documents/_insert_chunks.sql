-- _approximate_tokens: about how many cl100k_base tokens a text has; the server has no tokenizer.
CREATE OR REPLACE FUNCTION pgblend._approximate_tokens(content text)
RETURNS integer
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.split import approximate_tokens

return approximate_tokens(content)
$python$;

-- _insert_chunks: add chunks to documents, in the order given; returns how many.
-- Their texts lose control characters (_uncontrolled); offsets are those of the text that came.
-- A chunk's `document` is the place of its document among document_ids, from 1; those of a NULL, or
-- of a document that is not there, are left out. Each document's chunk_index begins at first_index.
-- Their lexemes are the trigger's (_chunk_index_text). Planned once a session: planning takes as
-- long as a short document.
CREATE OR REPLACE FUNCTION pgblend._insert_chunks(
    document_ids bigint[],
    chunks pgblend_data.given_chunk[],
    first_index integer
)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET client_min_messages = warning
SET enable_seqscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
    added integer;
BEGIN
    WITH target AS MATERIALIZED (
        SELECT
            t.place, d.id, d.collection_id, d.bucket, d.text_search_config
        FROM unnest(document_ids) WITH ORDINALITY AS t (id, place)
        INNER JOIN pgblend_data.document AS d ON d.id = t.id
    ), new AS (
        SELECT
            n.*, t.*,
            first_index - 1 + row_number() OVER chunks_before AS chunk_index,
            pgblend._uncontrolled(n.content) AS text,
            pgblend._uncontrolled(n.heading) AS own_heading,
            pgblend._uncontrolled(n.context) AS own_context,
            coalesce(
                pgblend._uncontrolled(n.own_headings),
                CASE WHEN n.kind = 'code' THEN '' END) AS headings_within,
            coalesce(length(pgblend._uncontrolled(left(n.content, n.own_start))), 0) AS text_start
        FROM unnest(chunks) WITH ORDINALITY AS n
        INNER JOIN target AS t ON t.place = n.document
        WINDOW chunks_before AS (PARTITION BY t.id ORDER BY n.ordinality)
    )
    INSERT INTO pgblend_data.chunk (
        document_id, chunk_index, collection_id, bucket, content, heading, kind, own_start,
        start_offset, end_offset, start_line, end_line, pages, token_count, piece_tokens, metadata,
        text_search_config, context, own_headings)
    SELECT
        n.id, n.chunk_index, n.collection_id, n.bucket, n.text, n.own_heading,
        coalesce(n.kind, 'doc'), n.text_start, n.start_offset, n.end_offset, n.start_line,
        n.end_line, n.pages, coalesce(n.token_count, pgblend._approximate_tokens(n.text)),
        n.piece_tokens, coalesce(pgblend._uncontrolled_json(n.metadata), '{}'),
        n.text_search_config, n.own_context, n.headings_within
    FROM new AS n
    ORDER BY n.id, n.ordinality;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END;
$function$;
