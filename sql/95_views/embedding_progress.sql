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
    s.name AS space,
    s.model,
    total.chunks - coalesce(q.waiting, 0) - coalesce(q.dead, 0) AS embedded,
    coalesce(q.waiting, 0) AS waiting,
    coalesce(q.claimed, 0) AS claimed,
    coalesce(q.retrying, 0) AS retrying,
    coalesce(q.dead, 0) AS dead,
    q.oldest_at,
    worker.workers,
    worker.per_second,
    CASE
        WHEN worker.per_second > 0
            THEN make_interval(secs => round(coalesce(q.waiting, 0) / worker.per_second))
    END AS remaining
FROM pgblend_data.embedding_space AS s
CROSS JOIN total
CROSS JOIN worker
LEFT JOIN queue AS q ON s.name = q.space;

COMMENT ON COLUMN blend.embedding_progress.space IS 'Name of the embedding space.';
COMMENT ON COLUMN blend.embedding_progress.model IS 'Model that makes its vectors.';
COMMENT ON COLUMN blend.embedding_progress.embedded IS 'Chunks that have a vector.';
COMMENT ON COLUMN blend.embedding_progress.waiting IS
'Chunks that wait for one, those at work and those to be tried again included.';
COMMENT ON COLUMN blend.embedding_progress.claimed IS 'Of these, chunks that a worker has.';
COMMENT ON COLUMN blend.embedding_progress.retrying IS 'Of these, chunks that failed before.';
COMMENT ON COLUMN blend.embedding_progress.dead IS
'Chunks given up: blend.embedding_dead_letters.';
COMMENT ON COLUMN blend.embedding_progress.oldest_at IS
'Since when the oldest of those that wait does.';
COMMENT ON COLUMN blend.embedding_progress.workers IS
'Sessions of workers that live, whatever space they work for.';
COMMENT ON COLUMN blend.embedding_progress.per_second IS
'Vectors that these stored a second, since each began.';
COMMENT ON COLUMN blend.embedding_progress.remaining IS
'How long those that wait take at this speed; NULL where nobody works.';
