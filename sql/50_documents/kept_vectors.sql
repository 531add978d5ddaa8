-- _kept_vectors: the vectors of documents, an array of [space, document, key, vector]: passages
-- that come again with the same text get them (_give_vectors).
-- At most `most` of a space, NULL: all. Those that wait for a new one are left out, and those that
-- an attached table brings itself.
CREATE OR REPLACE FUNCTION pgblend._kept_vectors(document_ids bigint[], most bigint)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    space record;
    found jsonb;
    kept jsonb := '[]';
BEGIN
    FOR space IN SELECT s.name, s.table_name FROM pgblend_data.embedding_space AS s LOOP
        -- Calls in text: _vector_key (a space's table).
        EXECUTE format(
            'SELECT jsonb_agg(jsonb_build_array($1, f.document_id, f.key, f.vector)) FROM (
                SELECT e.document_id, e.embedding::text AS vector,
                    pgblend._vector_key(d.title, c.heading, c.content, c.context) AS key
                FROM pgblend_data.document AS d
                INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id
                INNER JOIN pgblend_data.%I AS e
                    ON e.chunk_id = c.id AND e.collection_id = c.collection_id
                WHERE d.id = ANY($2) AND NOT EXISTS (
                    SELECT FROM pgblend_data.embedding_queue AS q
                    WHERE q.space = $1 AND q.chunk_id = c.id) AND NOT EXISTS (
                    SELECT FROM pgblend_data.attached_table AS a
                    WHERE a.collection_id = d.collection_id AND a.space IS NOT NULL)
                ORDER BY c.document_id, c.chunk_index
                LIMIT $3
            ) AS f', space.table_name)
        INTO found USING space.name, document_ids, most;
        kept := kept || coalesce(found, '[]');
    END LOOP;
    RETURN kept;
END;
$function$;

-- _give_vectors: store vectors that were kept for the passages with their texts, which wait for
-- them no longer.
-- They are of the documents that they were of, or all of document `heir`.
CREATE OR REPLACE FUNCTION pgblend._give_vectors(kept jsonb, heir bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    space record;
BEGIN
    FOR space IN
        SELECT s.name, s.table_name, jsonb_agg(v.value) AS found
        FROM jsonb_array_elements(kept) AS v
        INNER JOIN pgblend_data.embedding_space AS s ON v.value ->> 0 = s.name
        GROUP BY s.name, s.table_name
    LOOP
        -- Calls in text: _vector_key (a space's table).
        EXECUTE format(
            'WITH given AS (
                INSERT INTO pgblend_data.%1$I (
                    chunk_id, document_id, chunk_index, collection_id, bucket, embedding)
                SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket,
                    (jsonb_populate_record(NULL::pgblend_data.%1$I,
                        jsonb_build_object(''embedding'', n.vector))).embedding
                FROM (
                    SELECT DISTINCT ON (1, 2) coalesce($3, (v.value ->> 1)::bigint) AS document_id,
                        v.value ->> 2 AS key, v.value ->> 3 AS vector
                    FROM jsonb_array_elements($1) AS v
                ) AS n
                INNER JOIN pgblend_data.document AS d ON d.id = n.document_id
                INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id
                    AND pgblend._vector_key(d.title, c.heading, c.content, c.context) = n.key
                RETURNING chunk_id
            )
            DELETE FROM pgblend_data.embedding_queue AS q
            USING given AS g
            WHERE q.space = $2 AND q.chunk_id = g.chunk_id', space.table_name)
        USING space.found, space.name, heir;
    END LOOP;
END;
$function$;

-- _vector_key: tells passages of a document for which the same text is embedded.
CREATE OR REPLACE FUNCTION pgblend._vector_key(
    title text,
    heading text,
    content text,
    context text
)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN md5(jsonb_build_array(title, heading, content, context)::text);
