-- embedding_spaces: the embedding spaces, with the chunks that still wait for a vector.
CREATE OR REPLACE VIEW blend.embedding_spaces WITH (security_invoker = true) AS
SELECT
    s.name,  -- Name.
    s.model,  -- Model that makes its vectors.
    s.dimensions,  -- Dimensions of a vector.
    s.storage,  -- vector, halfvec, or binary: an index of signs, re-scored by stored halfvec.
    s.active,  -- Whether searches use it.
    s.table_name,  -- Its table in pgblend_data.
    (
        SELECT count(*)
        FROM pgblend_data.embedding_queue AS q
        WHERE q.space = s.name AND q.dead_at IS NULL
    ) AS waiting,  -- Chunks that wait for a vector.
    s.probed_at,  -- When the model was asked for a vector, to know it again; NULL where it was not.
    s.created_at,  -- When it was made.
    (
        SELECT count(*)
        FROM pgblend_data.embedding_queue AS q
        WHERE q.space = s.name AND q.dead_at IS NOT NULL
    ) AS dead,  -- Chunks given up: blend.embedding_dead_letters.
    -- What searches that set no ef_search take (tune_embedding_space); NULL stands for 100.
    s.ef_search,
    s.recall,  -- Share of the nearest candidate_depth passages that the index found so.
    s.tuned_at  -- When that was measured.
FROM pgblend_data.embedding_space AS s;
