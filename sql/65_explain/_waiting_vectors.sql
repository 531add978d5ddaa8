-- _waiting_vectors: how many passages of a document wait for their vector in an embedding space.
CREATE OR REPLACE FUNCTION pgblend._waiting_vectors(document_id bigint, space text)
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN (
    SELECT count(*) FROM pgblend_data.embedding_queue AS q
    WHERE q.document_id = _waiting_vectors.document_id AND q.space = _waiting_vectors.space
);
