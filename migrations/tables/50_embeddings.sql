-- Embedding spaces, their queue and workers. A worker's row has the key of its life, made with the
-- row, and the process that it counts for. Each space has a table of vectors
-- (pgblend._create_embedding_table).

CREATE TABLE pgblend_data.embedding_space (
    name text NOT NULL,
    model text NOT NULL,
    dimensions integer NOT NULL,
    storage text NOT NULL,
    active boolean NOT NULL,
    table_name name NOT NULL,
    vector_type text GENERATED ALWAYS AS (
        CASE storage WHEN 'vector' THEN 'vector' ELSE 'halfvec' END
        || '(' || dimensions::text || ')'
    ) STORED,
    probe real[],
    probed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    ef_search integer,
    recall double precision,
    tuned_at timestamptz,
    brings_vectors boolean NOT NULL DEFAULT false,
    asks_model boolean NOT NULL DEFAULT true,
    asked_dimensions integer,
    bridged_from text,
    CONSTRAINT embedding_space_pkey PRIMARY KEY (name),
    CONSTRAINT embedding_space_table_name_key UNIQUE (table_name),
    CONSTRAINT embedding_space_name_check CHECK (
        name ~ '^[a-z][a-z0-9_]{0,31}$'
        AND name NOT IN ('allowance', 'queue', 'space', 'worker')
    ),
    CONSTRAINT embedding_space_table_name_check CHECK (table_name = 'embedding_' || name),
    CONSTRAINT embedding_space_storage_check CHECK (storage IN ('vector', 'halfvec', 'binary')),
    CONSTRAINT embedding_space_ef_search_check CHECK (ef_search BETWEEN 1 AND 1000)
);
CREATE UNIQUE INDEX embedding_space_active_btree
ON pgblend_data.embedding_space USING btree (active) WHERE active;
COMMENT ON TABLE pgblend_data.embedding_space IS
'Registry of embedding spaces: one model, one table of vectors and one HNSW index each; searches '
'use the active one.';
COMMENT ON COLUMN pgblend_data.embedding_space.vector_type IS
'Type of the stored vectors: those of a binary space are halfvec, and only its index is binary.';
COMMENT ON COLUMN pgblend_data.embedding_space.probe IS
'Beginning of the normalised vector that the model gave for the probe text; NULL where not asked.';
COMMENT ON COLUMN pgblend_data.embedding_space.ef_search IS
'Search list of the index for searches that set none; NULL: not tuned, 100.';
COMMENT ON COLUMN pgblend_data.embedding_space.recall IS
'Share of the nearest passages that the index found so.';
COMMENT ON COLUMN pgblend_data.embedding_space.tuned_at IS 'When that was measured.';
COMMENT ON COLUMN pgblend_data.embedding_space.brings_vectors IS
'Whether callers bring the vectors: then no chunk is queued when it comes.';
COMMENT ON COLUMN pgblend_data.embedding_space.asks_model IS
'Whether the model is asked: for queries, and for passages that wait.';
COMMENT ON COLUMN pgblend_data.embedding_space.asked_dimensions IS
'Dimensions that the model is asked for; NULL: it gives those of the space by itself.';

COMMENT ON COLUMN pgblend_data.embedding_space.bridged_from IS
'Space by which passages without a vector in this one are found (space_bridge); NULL: by none.';

CREATE TABLE pgblend_data.space_bridge (
    space text NOT NULL,
    weights vector[] NOT NULL,
    shift vector NOT NULL,
    pairs integer NOT NULL,
    kept double precision NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT space_bridge_pkey PRIMARY KEY (space),
    CONSTRAINT space_bridge_space_fkey FOREIGN KEY (space)
    REFERENCES pgblend_data.embedding_space (name) ON DELETE CASCADE
);
ALTER TABLE pgblend_data.space_bridge ALTER COLUMN weights SET STORAGE EXTERNAL;
COMMENT ON TABLE pgblend_data.space_bridge IS
'The matrix that makes of a query''s vector one for the space before, while a space is filled.';
COMMENT ON COLUMN pgblend_data.space_bridge.weights IS
'A row for each dimension of the space before: its inner product with the query is that number.';
COMMENT ON COLUMN pgblend_data.space_bridge.shift IS
'Its inner product with the query is added to all scores of the space before.';
COMMENT ON COLUMN pgblend_data.space_bridge.pairs IS 'Passages that it was fitted on.';
COMMENT ON COLUMN pgblend_data.space_bridge.kept IS
'Share of the five nearest passages of held-out ones that it found among ten.';

CREATE TABLE pgblend_data.embedding_worker (
    id integer GENERATED ALWAYS AS IDENTITY,
    host text NOT NULL,
    process integer NOT NULL,
    started_by name NOT NULL DEFAULT current_user,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    stored bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    backend integer NOT NULL DEFAULT pg_backend_pid(),
    life_lock bigint NOT NULL DEFAULT hashtextextended(gen_random_uuid()::text, 0),
    waits boolean NOT NULL DEFAULT false,
    CONSTRAINT embedding_worker_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE pgblend_data.embedding_worker IS
'Sessions that make vectors and summaries. One lives as long as it holds the lock of its row; what '
'a dead one had claimed is free.';
COMMENT ON COLUMN pgblend_data.embedding_worker.backend IS
'Process id of its session: nobody else holds its lock.';
COMMENT ON COLUMN pgblend_data.embedding_worker.life_lock IS
'Key of the advisory lock that it holds while it lives; random, so that nobody holds it before.';
COMMENT ON COLUMN pgblend_data.embedding_worker.waits IS
'Whether it waits to be told of work (NOTIFY pgblend_embedding).';

CREATE TABLE pgblend_data.embedding_queue (
    space text NOT NULL,
    chunk_id bigint NOT NULL,
    document_id bigint NOT NULL,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    queued_at timestamptz NOT NULL DEFAULT now(),
    worker integer,
    attempts integer NOT NULL DEFAULT 0,
    not_before timestamptz,
    last_error text,
    dead_at timestamptz,
    CONSTRAINT embedding_queue_pkey PRIMARY KEY (space, chunk_id, collection_id),
    CONSTRAINT embedding_queue_space_fkey FOREIGN KEY (space)
    REFERENCES pgblend_data.embedding_space (name) ON DELETE CASCADE,
    CONSTRAINT embedding_queue_chunk_fkey FOREIGN KEY (chunk_id, document_id, collection_id)
    REFERENCES pgblend_data.chunk (id, document_id, collection_id) ON DELETE CASCADE
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
CREATE INDEX embedding_queue_chunk_id_btree
ON pgblend_data.embedding_queue USING btree (chunk_id, document_id, collection_id);
CREATE INDEX embedding_queue_collection_id_btree
ON pgblend_data.embedding_queue USING btree (space, collection_id, chunk_id);
CREATE INDEX embedding_queue_dead_btree
ON pgblend_data.embedding_queue USING btree (space, chunk_id) WHERE dead_at IS NOT NULL;
COMMENT ON TABLE pgblend_data.embedding_queue IS
'Chunks that still need a vector in a space; written with the chunk, deleted with the vector.';
COMMENT ON COLUMN pgblend_data.embedding_queue.worker IS
'Who works on it (embedding_worker.id); NULL or a dead worker''s: nobody. Queueing it anew sets '
'NULL, and what the worker then brings is too late.';
COMMENT ON COLUMN pgblend_data.embedding_queue.attempts IS
'How often the model refused this very text.';
COMMENT ON COLUMN pgblend_data.embedding_queue.not_before IS 'When to try again; NULL: at once.';
COMMENT ON COLUMN pgblend_data.embedding_queue.dead_at IS
'When it was given up; NULL while it waits. retry_embeddings() queues it anew.';

CREATE TABLE pgblend_data.embedding_allowance (
    space text NOT NULL,
    texts double precision NOT NULL,
    counted_at timestamptz NOT NULL,
    CONSTRAINT embedding_allowance_pkey PRIMARY KEY (space),
    CONSTRAINT embedding_allowance_space_fkey FOREIGN KEY (space)
    REFERENCES pgblend_data.embedding_space (name) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.embedding_allowance IS
'How many texts all workers together may send for a space at once, and when that was counted; only '
'while the setting embedding_texts_per_minute is set.';
