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
    s.tuned_at,  -- When that was measured.
    s.brings_vectors,  -- Whether callers bring its vectors: new chunks do not wait for one.
    -- Dimensions that the model is asked for; NULL: it gives those of the space by itself.
    s.asked_dimensions,
    s.asks_model,  -- Whether its model is asked, for queries and for chunks that wait.
    -- Space by which passages that wait for a vector are found meanwhile; NULL: by none.
    s.bridged_from
FROM pgblend_data.embedding_space AS s;

-- embedding_progress: how far each embedding space is, how fast it goes, and how long it takes.
CREATE OR REPLACE VIEW blend.embedding_progress WITH (security_invoker = true) AS
WITH live AS (
    SELECT pgblend._live_workers() AS ids
),

total AS (
    SELECT count(*) AS chunks
    FROM pgblend_data.chunk
),

attached AS (
    SELECT count(a.space) > 0 AS has_vectors
    FROM pgblend_data.attached_table AS a
),

worker AS (
    SELECT
        count(*) AS workers,
        sum(
            w.stored / greatest(extract(EPOCH FROM w.seen_at - w.started_at), 1)
        )::double precision AS per_second
    FROM pgblend_data.embedding_worker AS w
    CROSS JOIN live
    WHERE w.id = any(live.ids)
),

queue AS (
    SELECT
        e.space,
        count(*) FILTER (WHERE e.dead_at IS NULL) AS waiting,
        count(*) FILTER (WHERE e.worker = any(live.ids)) AS claimed,
        count(*) FILTER (WHERE e.dead_at IS NULL AND e.attempts > 0) AS retrying,
        count(*) FILTER (WHERE e.dead_at IS NOT NULL) AS dead,
        min(e.queued_at) FILTER (WHERE e.dead_at IS NULL) AS oldest_at
    FROM pgblend_data.embedding_queue AS e
    CROSS JOIN live
    GROUP BY e.space
)

SELECT
    s.name AS space,  -- Name of the embedding space.
    s.model,  -- Model that makes its vectors.
    -- Chunks that have a vector.
    CASE
        WHEN s.brings_vectors OR attached.has_vectors
            THEN (SELECT c.vectors FROM blend.count_vectors(s.name) AS c)
        ELSE total.chunks - coalesce(q.waiting, 0) - coalesce(q.dead, 0)
    END AS embedded,
    -- Chunks that wait for one, those at work and those to be tried again included.
    coalesce(q.waiting, 0) AS waiting,
    coalesce(q.claimed, 0) AS claimed,  -- Of these, chunks that a worker has.
    coalesce(q.retrying, 0) AS retrying,  -- Of these, chunks that failed before.
    coalesce(q.dead, 0) AS dead,  -- Chunks given up: blend.embedding_dead_letters.
    q.oldest_at,  -- Since when the oldest of those that wait does.
    worker.workers,  -- Sessions of workers that live, whatever space they work for.
    worker.per_second,  -- Vectors that these stored a second, since each began.
    CASE
        WHEN worker.per_second > 0
            THEN make_interval(secs => round(coalesce(q.waiting, 0) / worker.per_second))
    END AS remaining  -- How long those that wait take at this speed; NULL where nobody works.
FROM pgblend_data.embedding_space AS s
CROSS JOIN total
CROSS JOIN attached
CROSS JOIN worker
LEFT JOIN queue AS q ON s.name = q.space;

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
