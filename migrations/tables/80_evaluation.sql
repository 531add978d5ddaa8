-- Judged sets, their queries and judgements, evaluation runs and what they found. Documents are
-- named by their source keys, so no foreign key leads to the store, and judgements outlive a
-- document's removal and its next ingest. collection_id stands in every row for row security, and
-- double keys keep it the set's own; without one a set spans all collections, and only admins see
-- it.

CREATE TABLE pgblend_data.judged_set (
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    collection_id bigint,
    description text NOT NULL DEFAULT '',
    embedding_model text,
    created_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT judged_set_pkey PRIMARY KEY (id),
    CONSTRAINT judged_set_name_key UNIQUE NULLS NOT DISTINCT (name, collection_id),
    CONSTRAINT judged_set_id_collection_id_key UNIQUE (id, collection_id),
    CONSTRAINT judged_set_name_check CHECK (name <> '' AND name = btrim(name)),
    CONSTRAINT judged_set_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
CREATE INDEX judged_set_collection_id_btree
ON pgblend_data.judged_set USING btree (collection_id);
COMMENT ON TABLE pgblend_data.judged_set IS
'Queries with judged documents, on one collection or (collection_id NULL) on all.';

CREATE TABLE pgblend_data.judged_query (
    id bigint GENERATED ALWAYS AS IDENTITY,
    set_id bigint NOT NULL,
    collection_id bigint,
    key text NOT NULL,
    query text NOT NULL,
    embedding vector,
    CONSTRAINT judged_query_pkey PRIMARY KEY (id),
    CONSTRAINT judged_query_id_collection_id_key UNIQUE (id, collection_id),
    CONSTRAINT judged_query_set_id_key_key UNIQUE (set_id, key),
    CONSTRAINT judged_query_set_id_fkey FOREIGN KEY (set_id)
    REFERENCES pgblend_data.judged_set (id) ON DELETE CASCADE,
    CONSTRAINT judged_query_set_id_collection_id_fkey FOREIGN KEY (set_id, collection_id)
    REFERENCES pgblend_data.judged_set (id, collection_id) ON DELETE CASCADE,
    CONSTRAINT judged_query_query_check CHECK (btrim(query) <> '')
);
COMMENT ON TABLE pgblend_data.judged_query IS
'A query of a judged set, with its vector in the set''s embedding_model where one was given.';

CREATE TABLE pgblend_data.judgement (
    query_id bigint NOT NULL,
    source_key text NOT NULL,
    collection_id bigint,
    grade integer NOT NULL,
    judged_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    judged_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT judgement_pkey PRIMARY KEY (query_id, source_key),
    CONSTRAINT judgement_query_id_fkey FOREIGN KEY (query_id)
    REFERENCES pgblend_data.judged_query (id) ON DELETE CASCADE,
    CONSTRAINT judgement_query_id_collection_id_fkey FOREIGN KEY (query_id, collection_id)
    REFERENCES pgblend_data.judged_query (id, collection_id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.judgement IS
'How well a document answers a query: above 0 relevant, the higher the better.';

CREATE TABLE pgblend_data.evaluation_run (
    id bigint GENERATED ALWAYS AS IDENTITY,
    set_id bigint NOT NULL,
    collection_id bigint,
    arm text NOT NULL,
    profile text,
    options jsonb NOT NULL,
    result_limit integer NOT NULL,
    settings jsonb NOT NULL,
    versions jsonb NOT NULL,
    state text NOT NULL DEFAULT 'running',
    metrics jsonb,
    started_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    CONSTRAINT evaluation_run_pkey PRIMARY KEY (id),
    CONSTRAINT evaluation_run_id_collection_id_key UNIQUE (id, collection_id),
    CONSTRAINT evaluation_run_set_id_fkey FOREIGN KEY (set_id)
    REFERENCES pgblend_data.judged_set (id) ON DELETE CASCADE,
    CONSTRAINT evaluation_run_set_id_collection_id_fkey FOREIGN KEY (set_id, collection_id)
    REFERENCES pgblend_data.judged_set (id, collection_id) ON DELETE CASCADE,
    CONSTRAINT evaluation_run_arm_check CHECK (arm IN ('hybrid', 'lexical', 'vector', 'fuzzy')),
    CONSTRAINT evaluation_run_state_check CHECK (state IN ('running', 'done'))
);
CREATE INDEX evaluation_run_set_id_btree
ON pgblend_data.evaluation_run USING btree (set_id, started_at);
COMMENT ON TABLE pgblend_data.evaluation_run IS
'A judged set''s queries searched in one way: options given, settings in force, versions; metrics '
'are means over its queries, there when it is done.';

CREATE TABLE pgblend_data.evaluation_result (
    run_id bigint NOT NULL,
    query_id bigint NOT NULL,
    collection_id bigint,
    source_keys text[] NOT NULL,
    scores double precision[] NOT NULL,
    passages integer NOT NULL,
    latency_ms double precision NOT NULL,
    degraded text[] NOT NULL,
    metrics jsonb NOT NULL,
    CONSTRAINT evaluation_result_pkey PRIMARY KEY (run_id, query_id),
    CONSTRAINT evaluation_result_run_id_fkey FOREIGN KEY (run_id)
    REFERENCES pgblend_data.evaluation_run (id) ON DELETE CASCADE,
    CONSTRAINT evaluation_result_run_id_collection_id_fkey FOREIGN KEY (run_id, collection_id)
    REFERENCES pgblend_data.evaluation_run (id, collection_id) ON DELETE CASCADE,
    CONSTRAINT evaluation_result_query_id_fkey FOREIGN KEY (query_id)
    REFERENCES pgblend_data.judged_query (id) ON DELETE CASCADE
);
CREATE INDEX evaluation_result_query_id_btree
ON pgblend_data.evaluation_result USING btree (query_id);
COMMENT ON TABLE pgblend_data.evaluation_result IS
'What one query found in a run: documents by source key, best first, and its metrics.';
