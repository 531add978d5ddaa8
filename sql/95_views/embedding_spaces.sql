-- embedding_spaces: the embedding spaces, with the chunks that still wait for a vector.
CREATE OR REPLACE VIEW blend.embedding_spaces WITH (security_invoker = true) AS
SELECT
    s.name,
    s.model,
    s.dimensions,
    s.storage,
    s.active,
    s.table_name,
    (
        SELECT count(*)
        FROM pgblend_data.embedding_queue AS q
        WHERE q.space = s.name AND q.dead_at IS NULL
    ) AS waiting,
    s.probed_at,
    s.created_at,
    (
        SELECT count(*)
        FROM pgblend_data.embedding_queue AS q
        WHERE q.space = s.name AND q.dead_at IS NOT NULL
    ) AS dead,
    s.ef_search,
    s.recall,
    s.tuned_at
FROM pgblend_data.embedding_space AS s;

COMMENT ON COLUMN blend.embedding_spaces.name IS 'Name.';
COMMENT ON COLUMN blend.embedding_spaces.model IS 'Model that makes its vectors.';
COMMENT ON COLUMN blend.embedding_spaces.dimensions IS 'Dimensions of a vector.';
COMMENT ON COLUMN blend.embedding_spaces.storage IS
'vector, halfvec, or binary: an index of signs, re-scored by stored halfvec.';
COMMENT ON COLUMN blend.embedding_spaces.active IS 'Whether searches use it.';
COMMENT ON COLUMN blend.embedding_spaces.table_name IS 'Its table in pgblend_data.';
COMMENT ON COLUMN blend.embedding_spaces.waiting IS 'Chunks that wait for a vector.';
COMMENT ON COLUMN blend.embedding_spaces.probed_at IS
'When the model was asked for a vector, to know it again; NULL where it was not.';
COMMENT ON COLUMN blend.embedding_spaces.created_at IS 'When it was made.';
COMMENT ON COLUMN blend.embedding_spaces.dead IS
'Chunks given up: blend.embedding_dead_letters.';
COMMENT ON COLUMN blend.embedding_spaces.ef_search IS
'What searches that set no ef_search take (tune_embedding_space); NULL stands for 100.';
COMMENT ON COLUMN blend.embedding_spaces.recall IS
'Share of the nearest candidate_depth passages that the index found so.';
COMMENT ON COLUMN blend.embedding_spaces.tuned_at IS 'When that was measured.';
