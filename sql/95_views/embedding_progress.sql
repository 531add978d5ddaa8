-- embedding_progress: how far each embedding space is, how fast it goes, and how long it takes.
CREATE OR REPLACE VIEW blend.embedding_progress WITH (security_invoker = true) AS
WITH live AS (
    SELECT pgblend._live_workers() AS ids
),

total AS (
    SELECT count(*) AS chunks
    FROM pgblend_data.chunk
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
    total.chunks - coalesce(q.waiting, 0) - coalesce(q.dead, 0) AS embedded,
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
CROSS JOIN worker
LEFT JOIN queue AS q ON s.name = q.space;
