-- embedding_dead_letters: chunks that were given up, and why.
CREATE OR REPLACE VIEW blend.embedding_dead_letters WITH (security_invoker = true) AS
SELECT
    q.space,  -- Name of the embedding space.
    k.name AS collection,  -- Name of the collection.
    q.document_id,  -- The document.
    d.source_key,  -- Its key.
    q.chunk_id,  -- The passage.
    q.attempts,  -- How often the model refused it.
    q.last_error AS reason,  -- What the model said last.
    q.dead_at  -- When it was given up.
FROM pgblend_data.embedding_queue AS q
INNER JOIN pgblend_data.document AS d ON q.document_id = d.id
INNER JOIN pgblend_data.collection AS k ON q.collection_id = k.id
WHERE q.dead_at IS NOT NULL;
