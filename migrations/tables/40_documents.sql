-- Documents, their summaries and their chunks. What belongs to a document belongs to its
-- collection: keys tie them. What is unique names the collection, so that no conflict tells of
-- hidden rows before a key refuses. Before there are statistics any index that begins with the
-- collection seems to find few rows, and a session keeps what it planned then: so such an index
-- goes on with the row's own number, or has a condition. Of two that seem alike the newest is
-- taken: a key's is made last. Metadata is readable where programs of others read it as well
-- (pgblend._unreadable_json).

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
    -- The key first: compartments of one collection are searched for it (_document_refuse_twin).
    CONSTRAINT document_collection_id_source_key_key UNIQUE (source_key, collection_id),
    CONSTRAINT document_collection_id_id_key UNIQUE (collection_id, id),
    CONSTRAINT document_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id),
    CONSTRAINT document_bucket_check CHECK (bucket BETWEEN 0 AND 4095),
    CONSTRAINT document_metadata_object_check CHECK (jsonb_typeof(metadata) = 'object'),
    CONSTRAINT document_metadata_readable_check CHECK (
        NOT jsonb_path_exists(metadata, '$.**{100}') AND NOT jsonb_path_exists(
            metadata, '$.** ? (@.type() == "number" && (@.abs() >= 1e4300
                || @.abs() >= 1e308 && @.floor() != @))')
    )
);
-- Indexes for filters. Row security lets a reader use the b-trees and the SP-GiST one, whose
-- operators are leakproof. A b-tree would refuse URIs of more than 2,700 bytes.
CREATE INDEX document_metadata_gin
ON pgblend_data.document USING gin (metadata jsonb_path_ops);
CREATE INDEX document_modified_at_btree
ON pgblend_data.document USING btree (collection_id, modified_at) WHERE modified_at IS NOT NULL;
CREATE INDEX document_language_btree
ON pgblend_data.document USING btree (text_search_config, collection_id);
CREATE INDEX document_uri_spgist
ON pgblend_data.document USING spgist (uri);
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
    worker integer,
    CONSTRAINT document_summary_pkey PRIMARY KEY (document_id, collection_id),
    CONSTRAINT document_summary_document_fkey FOREIGN KEY (document_id, collection_id)
    REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE
);
CREATE INDEX document_summary_due_btree
ON pgblend_data.document_summary USING btree (failures, document_id)
WHERE (summary IS NULL OR outdated) AND failures < 3;
CREATE INDEX document_summary_collection_id_btree
ON pgblend_data.document_summary USING btree (collection_id, document_id);
CREATE INDEX document_summary_key_btree
ON pgblend_data.document_summary USING btree (key) WHERE key IS NOT NULL;
COMMENT ON TABLE pgblend_data.document_summary IS
'Summaries of documents; NULL while one waits for it. The key is a digest of model, prompt and '
'text, so that nothing is summed up twice; NULL where it was set by hand.';
COMMENT ON COLUMN pgblend_data.document_summary.made_by IS
'The model, and a digest of the prompt.';
COMMENT ON COLUMN pgblend_data.document_summary.outdated IS
'Whether another one is wanted; this one serves until it comes.';
COMMENT ON COLUMN pgblend_data.document_summary.worker IS
'Who has it summed up (embedding_worker.id); NULL or a dead worker''s: nobody.';

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
    own_position integer NOT NULL,
    context text,
    own_headings text,
    CONSTRAINT chunk_pkey PRIMARY KEY (id),
    CONSTRAINT chunk_document_id_chunk_index_key UNIQUE (document_id, chunk_index, collection_id),
    CONSTRAINT chunk_document_fkey FOREIGN KEY (document_id, collection_id)
    REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE,
    CONSTRAINT chunk_kind_check CHECK (kind IN ('code', 'doc', 'signature', 'metadata')),
    CONSTRAINT chunk_own_start_check CHECK (own_start BETWEEN 0 AND char_length(content)),
    CONSTRAINT chunk_metadata_object_check CHECK (jsonb_typeof(metadata) = 'object'),
    CONSTRAINT chunk_metadata_readable_check CHECK (
        NOT jsonb_path_exists(metadata, '$.**{100}') AND NOT jsonb_path_exists(
            metadata, '$.** ? (@.type() == "number" && (@.abs() >= 1e4300
                || @.abs() >= 1e308 && @.floor() != @))')
    )
);
-- Most chunks have no metadata of their own, so the indexes hold only those that do.
CREATE INDEX chunk_metadata_gin
ON pgblend_data.chunk USING gin (metadata jsonb_path_ops) WHERE metadata <> '{}';
CREATE INDEX chunk_own_metadata_btree
ON pgblend_data.chunk USING btree (collection_id) WHERE metadata <> '{}';
ALTER TABLE pgblend_data.chunk
ADD CONSTRAINT chunk_collection_id_document_id_id_key UNIQUE (collection_id, document_id, id);
-- A search asks it which passages of a page have copies, whatever statistics say. Each has a hash:
-- the condition keeps it from the checks of keys.
CREATE INDEX chunk_content_hash_btree
ON pgblend_data.chunk USING btree (content_hash COLLATE "C", collection_id)
WHERE content_hash IS NOT NULL;
COMMENT ON TABLE pgblend_data.chunk IS
'A passage of a document, with the lexemes of its title, heading and text. Immutable: an update is '
'a delete and an insert with a new id.';
COMMENT ON COLUMN pgblend_data.chunk.own_start IS
'Character of content where the chunk''s own text begins, after the overlap with the one before.';
COMMENT ON COLUMN pgblend_data.chunk.piece_tokens IS
'Tokens (cl100k_base) of each piece of content: a line, or a part of a long one; NULL where they '
'were not counted.';
COMMENT ON COLUMN pgblend_data.chunk.own_position IS
'Last position in lexemes that repeats the chunk before: its context, title, heading and end.';
COMMENT ON COLUMN pgblend_data.chunk.context IS
'What a table''s rows are to be read with: caption, header, labels of rows. It is embedded before '
'content, and its words are in lexemes; NULL: there is none.';
COMMENT ON COLUMN pgblend_data.chunk.own_headings IS
'Headings in its own text, a line each with # for its level; NULL: those Markdown marks there.';
