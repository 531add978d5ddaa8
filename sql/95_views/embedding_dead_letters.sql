-- embedding_dead_letters: chunks that were given up, and why.
CREATE OR REPLACE VIEW blend.embedding_dead_letters WITH (security_invoker = true) AS
SELECT
    q.space,
    k.name AS collection,
    q.document_id,
    d.source_key,
    q.chunk_id,
    q.attempts,
    q.last_error AS reason,
    q.dead_at
FROM pgblend_data.embedding_queue AS q
INNER JOIN pgblend_data.document AS d ON q.document_id = d.id
INNER JOIN pgblend_data.collection AS k ON q.collection_id = k.id
WHERE q.dead_at IS NOT NULL;

COMMENT ON COLUMN blend.embedding_dead_letters.space IS 'Name of the embedding space.';
COMMENT ON COLUMN blend.embedding_dead_letters.collection IS 'Name of the collection.';
COMMENT ON COLUMN blend.embedding_dead_letters.document_id IS 'The document.';
COMMENT ON COLUMN blend.embedding_dead_letters.source_key IS 'Its key.';
COMMENT ON COLUMN blend.embedding_dead_letters.chunk_id IS 'The passage.';
COMMENT ON COLUMN blend.embedding_dead_letters.attempts IS 'How often the model refused it.';
COMMENT ON COLUMN blend.embedding_dead_letters.reason IS 'What the model said last.';
COMMENT ON COLUMN blend.embedding_dead_letters.dead_at IS 'When it was given up.';
