"""Collections, documents, chunks, embedding spaces, row security, and the routines on them."""

from alembic import op

from pgblend.migrations.replace_routines import execute_script

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# collection, collection_grant and embedding_space are small and would be copied to every shard;
# document, chunk, embedding_queue and the embedding tables are the store: each row carries
# collection, document and bucket, and no foreign key leaves a document.
COLLECTIONS = """
CREATE TABLE pgblend_data.collection (
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    text_search_config text NOT NULL,
    settings jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT collection_pkey PRIMARY KEY (id),
    CONSTRAINT collection_name_key UNIQUE (name),
    CONSTRAINT collection_name_check CHECK (name <> '' AND name = btrim(name)),
    CONSTRAINT collection_settings_object_check CHECK (jsonb_typeof(settings) = 'object')
);
COMMENT ON TABLE pgblend_data.collection IS
'A collection of documents: the boundary for visibility and for word statistics.';

CREATE TABLE pgblend_data.collection_grant (
    collection_id bigint NOT NULL,
    role_name name NOT NULL,
    privilege text NOT NULL,
    granted_by name NOT NULL DEFAULT session_user,
    granted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT collection_grant_pkey PRIMARY KEY (collection_id, role_name, privilege),
    CONSTRAINT collection_grant_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE,
    CONSTRAINT collection_grant_privilege_check CHECK (privilege IN ('read', 'write'))
);
COMMENT ON TABLE pgblend_data.collection_grant IS
'Who may read or write a collection; the row security of all tables follows it.';

CREATE TABLE pgblend_data.collection_language (
    collection_id bigint NOT NULL,
    text_search_config text NOT NULL,
    CONSTRAINT collection_language_pkey PRIMARY KEY (collection_id, text_search_config),
    CONSTRAINT collection_language_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.collection_language IS
'Text search configurations that a collection''s documents use: a query is parsed once for each.';
"""

DOCUMENTS = """
CREATE TABLE pgblend_data.document (
    id bigint GENERATED ALWAYS AS IDENTITY,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    source_key text NOT NULL,
    uri text,
    title text NOT NULL,
    text_search_config text NOT NULL,
    media_type text,
    metadata jsonb NOT NULL,
    set_metadata jsonb,
    source_metadata jsonb,
    content_hash text NOT NULL,
    modified_at timestamptz,
    ingested_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT document_pkey PRIMARY KEY (id),
    CONSTRAINT document_collection_id_source_key_key UNIQUE (collection_id, source_key),
    CONSTRAINT document_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id),
    CONSTRAINT document_bucket_check CHECK (bucket BETWEEN 0 AND 4095),
    CONSTRAINT document_metadata_object_check CHECK (jsonb_typeof(metadata) = 'object')
);
COMMENT ON TABLE pgblend_data.document IS
'One source: a file, a record, a row. Its text is in its chunks.';
COMMENT ON COLUMN pgblend_data.document.metadata IS
'What filters see: the source''s metadata, and over it what was set by hand.';
COMMENT ON COLUMN pgblend_data.document.set_metadata IS
'What was set by hand, a JSON null for a key taken away; NULL where nothing was.';
COMMENT ON COLUMN pgblend_data.document.source_metadata IS
'What the source says, where something else was set over it; NULL where nothing was set, or all '
'was replaced by hand.';

CREATE TABLE pgblend_data.document_summary (
    document_id bigint NOT NULL,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    summary text,
    key text,
    made_by text,
    outdated boolean NOT NULL DEFAULT false,
    failures integer NOT NULL DEFAULT 0,
    reason text,
    made_at timestamptz,
    CONSTRAINT document_summary_pkey PRIMARY KEY (document_id),
    CONSTRAINT document_summary_document_id_fkey FOREIGN KEY (document_id)
    REFERENCES pgblend_data.document (id) ON DELETE CASCADE
);
CREATE INDEX document_summary_due_btree
ON pgblend_data.document_summary USING btree (failures, document_id)
WHERE (summary IS NULL OR outdated) AND failures < 3;
CREATE INDEX document_summary_collection_id_btree
ON pgblend_data.document_summary USING btree (collection_id);
CREATE INDEX document_summary_key_btree
ON pgblend_data.document_summary USING btree (key) WHERE key IS NOT NULL;
COMMENT ON TABLE pgblend_data.document_summary IS
'Summaries of documents; NULL while one waits for it. The key is a digest of model, prompt and '
'text, so that nothing is summed up twice; NULL where it was set by hand.';
COMMENT ON COLUMN pgblend_data.document_summary.made_by IS
'The model, and a digest of the prompt.';
COMMENT ON COLUMN pgblend_data.document_summary.outdated IS
'Whether another one is wanted; this one serves until it comes.';

CREATE TABLE pgblend_data.chunk (
    id bigint GENERATED ALWAYS AS IDENTITY,
    document_id bigint NOT NULL,
    chunk_index integer NOT NULL,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    content text NOT NULL,
    content_hash text GENERATED ALWAYS AS (md5(content)) STORED,
    heading text,
    kind text NOT NULL,
    own_start integer NOT NULL,
    start_offset integer,
    end_offset integer,
    start_line integer,
    end_line integer,
    pages integer[],
    token_count integer NOT NULL,
    piece_tokens smallint[],
    metadata jsonb NOT NULL,
    text_search_config text NOT NULL,
    lexemes tsvector NOT NULL,
    length integer NOT NULL,
    own_position integer NOT NULL,
    own_length integer NOT NULL,
    CONSTRAINT chunk_pkey PRIMARY KEY (id),
    CONSTRAINT chunk_document_id_chunk_index_key UNIQUE (document_id, chunk_index),
    CONSTRAINT chunk_document_id_fkey FOREIGN KEY (document_id)
    REFERENCES pgblend_data.document (id) ON DELETE CASCADE,
    CONSTRAINT chunk_kind_check CHECK (kind IN ('code', 'doc', 'signature', 'metadata')),
    CONSTRAINT chunk_own_start_check CHECK (own_start BETWEEN 0 AND char_length(content)),
    CONSTRAINT chunk_metadata_object_check CHECK (jsonb_typeof(metadata) = 'object')
);
CREATE INDEX chunk_lexemes_gin ON pgblend_data.chunk USING gin (lexemes);
CREATE INDEX chunk_collection_id_length_btree
ON pgblend_data.chunk USING btree (collection_id) INCLUDE (length);
COMMENT ON TABLE pgblend_data.chunk IS
'A passage of a document, with the lexemes of its title, heading and text. Immutable: an update is '
'a delete and an insert with a new id.';
COMMENT ON COLUMN pgblend_data.chunk.own_start IS
'Character of content where the chunk''s own text begins, after the overlap with the one before.';
COMMENT ON COLUMN pgblend_data.chunk.piece_tokens IS
'Tokens (cl100k_base) of each piece of content: a line, or a part of a long one; NULL where they '
'were not counted.';
COMMENT ON COLUMN pgblend_data.chunk.length IS
'Number of lexeme occurrences: the document length of BM25.';
COMMENT ON COLUMN pgblend_data.chunk.own_position IS
'Last position in lexemes that repeats the chunk before: its title, heading and end.';
COMMENT ON COLUMN pgblend_data.chunk.own_length IS
'Number of lexeme occurrences after own_position: what the chunk adds to its document''s length.';
"""

EMBEDDINGS = """
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
    CONSTRAINT embedding_space_pkey PRIMARY KEY (name),
    CONSTRAINT embedding_space_table_name_key UNIQUE (table_name),
    CONSTRAINT embedding_space_name_check CHECK (
        name ~ '^[a-z][a-z0-9_]{0,31}$' AND name NOT IN ('queue', 'space')
    ),
    CONSTRAINT embedding_space_table_name_check CHECK (table_name = 'embedding_' || name),
    CONSTRAINT embedding_space_storage_check CHECK (storage IN ('vector', 'halfvec', 'binary'))
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

CREATE TABLE pgblend_data.embedding_worker (
    id integer GENERATED ALWAYS AS IDENTITY,
    host text NOT NULL,
    process integer NOT NULL,
    started_by name NOT NULL DEFAULT session_user,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    stored bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    CONSTRAINT embedding_worker_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE pgblend_data.embedding_worker IS
'Sessions that make vectors. One lives as long as it holds its advisory lock; what a dead one had '
'claimed is free.';

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
    CONSTRAINT embedding_queue_pkey PRIMARY KEY (space, chunk_id),
    CONSTRAINT embedding_queue_space_fkey FOREIGN KEY (space)
    REFERENCES pgblend_data.embedding_space (name) ON DELETE CASCADE,
    CONSTRAINT embedding_queue_chunk_id_fkey FOREIGN KEY (chunk_id)
    REFERENCES pgblend_data.chunk (id) ON DELETE CASCADE
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
CREATE INDEX embedding_queue_chunk_id_btree
ON pgblend_data.embedding_queue USING btree (chunk_id);
CREATE INDEX embedding_queue_collection_id_btree
ON pgblend_data.embedding_queue USING btree (collection_id);
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
"""

# A grant of either kind lets a role see; pg_has_role makes members of a granted role see as well.
# Role names are compared by name, so that grants survive dump and restore.
ROW_SECURITY = """
CREATE POLICY collection_grant_own ON pgblend_data.collection_grant FOR SELECT USING (
    role_name IN (SELECT r.rolname FROM pg_catalog.pg_roles AS r WHERE pg_has_role(r.oid, 'USAGE'))
);
CREATE POLICY collection_grant_admin ON pgblend_data.collection_grant
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.collection_grant ENABLE ROW LEVEL SECURITY;

CREATE POLICY collection_read ON pgblend_data.collection FOR SELECT USING (
    id IN (SELECT g.collection_id FROM pgblend_data.collection_grant AS g)
);
CREATE POLICY collection_admin ON pgblend_data.collection
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.collection ENABLE ROW LEVEL SECURITY;
"""

# The tables whose rows belong to a collection; embedding tables get the same policies when made
# (pgblend._create_embedding_table).
SECURED_TABLES = (
    "collection_language",
    "document",
    "document_summary",
    "chunk",
    "embedding_queue",
)

SECURE_TABLE = """
CREATE POLICY {table}_read ON pgblend_data.{table} FOR SELECT USING (
    collection_id IN (SELECT c.id FROM pgblend_data.collection AS c)
);
CREATE POLICY {table}_write ON pgblend_data.{table} USING (
    collection_id IN (
        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
        WHERE g.privilege = 'write'
    )
);
CREATE POLICY {table}_admin ON pgblend_data.{table}
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.{table} ENABLE ROW LEVEL SECURITY;
"""

RESULT_TYPE = """
CREATE TYPE pgblend.search_result AS (
    rank integer,
    score double precision,
    relevance double precision,
    document_id bigint,
    chunk_id bigint,
    collection text,
    uri text,
    title text,
    snippet text,
    content text,
    start_line integer,
    end_line integer,
    pages integer[],
    metadata jsonb,
    source_key text,
    context_before text,
    context_after text,
    arms jsonb,
    degraded text[],
    details jsonb
);
COMMENT ON TYPE pgblend.search_result IS 'A row of every search function.';
COMMENT ON COLUMN pgblend.search_result.rank IS 'Place in the whole result, from 1.';
COMMENT ON COLUMN pgblend.search_result.score IS
'In [0, 1], falling with rank: what the stages gave, divided by what a perfect match would get.';
COMMENT ON COLUMN pgblend.search_result.relevance IS
'Comparable between queries; its basis is named in details ->> ''relevance_basis''. May be NULL.';
COMMENT ON COLUMN pgblend.search_result.document_id IS 'The document.';
COMMENT ON COLUMN pgblend.search_result.chunk_id IS 'The passage; changes when the text does.';
COMMENT ON COLUMN pgblend.search_result.collection IS 'Name of the collection.';
COMMENT ON COLUMN pgblend.search_result.uri IS 'Where the document came from.';
COMMENT ON COLUMN pgblend.search_result.title IS 'Title of the document.';
COMMENT ON COLUMN pgblend.search_result.snippet IS
'Best part of the passage as HTML: text escaped, matched words in <mark>.';
COMMENT ON COLUMN pgblend.search_result.content IS 'Text of the passage, as it was ingested.';
COMMENT ON COLUMN pgblend.search_result.start_line IS 'First line of the passage, from 1.';
COMMENT ON COLUMN pgblend.search_result.end_line IS 'Last line of the passage.';
COMMENT ON COLUMN pgblend.search_result.pages IS 'Pages that the passage touches.';
COMMENT ON COLUMN pgblend.search_result.metadata IS 'The document''s metadata and the passage''s.';
COMMENT ON COLUMN pgblend.search_result.source_key IS
'The document''s key within its collection: a path, a record''s id, a row''s key.';
COMMENT ON COLUMN pgblend.search_result.context_before IS 'Text before, where asked for.';
COMMENT ON COLUMN pgblend.search_result.context_after IS 'Text after, where asked for.';
COMMENT ON COLUMN pgblend.search_result.arms IS
'Per arm the rank and the raw score that this passage had there.';
COMMENT ON COLUMN pgblend.search_result.degraded IS
'What the search did without, and why; empty when nothing was missing.';
COMMENT ON COLUMN pgblend.search_result.details IS
'More about the row or the search: relevance_basis.';
"""

DROP_TABLES = """
DROP TYPE pgblend.search_result;
DO $do$
DECLARE
    embedding_table name;
BEGIN
    FOR embedding_table IN SELECT table_name FROM pgblend_data.embedding_space LOOP
        EXECUTE format('DROP TABLE pgblend_data.%I', embedding_table);
    END LOOP;
END
$do$;
DROP TABLE
pgblend_data.embedding_allowance, pgblend_data.embedding_queue, pgblend_data.embedding_worker,
pgblend_data.embedding_space,
pgblend_data.chunk, pgblend_data.document_summary, pgblend_data.document,
pgblend_data.collection_language, pgblend_data.collection_grant, pgblend_data.collection;
"""


def upgrade() -> None:
    connection = op.get_bind()
    for script in (COLLECTIONS, DOCUMENTS, EMBEDDINGS, ROW_SECURITY, RESULT_TYPE):
        execute_script(connection, script)
    for table in SECURED_TABLES:
        execute_script(connection, SECURE_TABLE.format(table=table))


def downgrade() -> None:
    execute_script(op.get_bind(), DROP_TABLES)
