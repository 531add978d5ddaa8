-- _first_embedded: the chunk_index from which on a model embeds the passages of a collection's
-- documents in a space; NULL: none of them.
-- Those of an attached table whose rows have vectors are embedded nowhere, or after the first
-- where embed_long_rows is set, in the space of these vectors alone.
CREATE OR REPLACE FUNCTION pgblend._first_embedded(
    target pgblend_data.embedding_space,
    collection_id bigint
)
RETURNS integer
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN a.space IS NULL THEN CASE WHEN NOT target.brings_vectors THEN 0 END
        WHEN a.space = target.name AND a.embed_long_rows THEN 1
    END
    FROM (VALUES (collection_id)) AS c (id)
    LEFT JOIN pgblend_data.attached_table AS a ON c.id = a.collection_id;
END;
