-- _vectors_waiting: whether some passages of the collections still need a vector in the space.
CREATE OR REPLACE FUNCTION pgblend._vectors_waiting(space text, collection_ids bigint[])
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS(
        SELECT
        FROM pgblend_data.embedding_queue AS q
        WHERE q.space = _vectors_waiting.space AND q.collection_id = ANY(collection_ids)
    );
END;

COMMENT ON FUNCTION pgblend._vectors_waiting(text, bigint[]) IS
'Whether some passages of the collections still need a vector in the space.';
