-- The lexical index: pending chunks, segments, postings, tombstones, vocabulary. Derived from
-- chunk.lexemes and rebuilt from it at any time. A term is the 64-bit BLAKE2b of its lexeme; arrays
-- are little-endian.

CREATE TABLE pgblend_data.pending (
    chunk_id bigint NOT NULL,
    document_id bigint NOT NULL,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    chunk_index integer NOT NULL,
    text_search_config text NOT NULL,
    length integer NOT NULL,
    own_length integer NOT NULL,
    records bytea,
    CONSTRAINT pending_pkey PRIMARY KEY (chunk_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- Without chunk_id: analyzed while it is empty, both indexes would look alike to a search by ids.
CREATE INDEX pending_collection_id_btree
ON pgblend_data.pending USING btree (collection_id, text_search_config);
COMMENT ON TABLE pgblend_data.pending IS
'Chunks that are not in a segment yet: 14 bytes a lexeme (term; occurrences in title, heading and '
'body, the chunk''s own and those that repeat the chunk before), written in the chunk''s own '
'transaction.';
COMMENT ON COLUMN pgblend_data.pending.length IS
'Number of lexeme occurrences, without identifiers and names: the document length of BM25.';
COMMENT ON COLUMN pgblend_data.pending.own_length IS
'Number of those after the chunk''s own_position: what it adds to its document''s length.';
COMMENT ON COLUMN pgblend_data.pending.records IS
'NULL where plain SQL wrote the chunk: who reads makes them, and the lengths, of its lexemes.';

CREATE TABLE pgblend_data.unsettled (
    document_id bigint NOT NULL,
    collection_id bigint NOT NULL,
    content text,
    links jsonb NOT NULL DEFAULT '[]',
    noted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT unsettled_pkey PRIMARY KEY (document_id, collection_id),
    CONSTRAINT unsettled_document_fkey FOREIGN KEY (document_id, collection_id)
    REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.unsettled IS
'Documents that plain SQL wrote where the program runs outside: found by their words, until '
'pgblend worker has looked at them.';
COMMENT ON COLUMN pgblend_data.unsettled.content IS
'The whole text where it is to be split anew; NULL: the chunks stay.';
COMMENT ON COLUMN pgblend_data.unsettled.links IS
'Links as they came: an array of {origin, links}.';

CREATE TABLE pgblend_data.segment (
    id bigint GENERATED ALWAYS AS IDENTITY,
    collection_id bigint NOT NULL,
    text_search_config text NOT NULL,
    n integer NOT NULL,
    total_length bigint NOT NULL,
    chunk_ids bytea NOT NULL,
    document_ids bytea NOT NULL,
    chunk_indexes bytea NOT NULL,
    lengths bytea NOT NULL,
    own_lengths bytea NOT NULL,
    code_book bytea NOT NULL,
    terms bytea NOT NULL,
    document_frequencies bytea NOT NULL,
    dead bytea NOT NULL DEFAULT '',
    dead_digest text GENERATED ALWAYS AS (md5(dead)) STORED,
    bytes bigint NOT NULL,
    signature bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT segment_pkey PRIMARY KEY (id),
    CONSTRAINT segment_n_check CHECK (n BETWEEN 1 AND 65536)
);
-- Not compressed, so that parts of them can be read, and the rest sooner by a new session.
ALTER TABLE pgblend_data.segment ALTER COLUMN terms SET STORAGE EXTERNAL,
ALTER COLUMN document_frequencies SET STORAGE EXTERNAL,
ALTER COLUMN chunk_ids SET STORAGE EXTERNAL, ALTER COLUMN document_ids SET STORAGE EXTERNAL,
ALTER COLUMN lengths SET STORAGE EXTERNAL, ALTER COLUMN own_lengths SET STORAGE EXTERNAL;
CREATE INDEX segment_collection_id_btree
ON pgblend_data.segment USING btree (collection_id, text_search_config);
COMMENT ON TABLE pgblend_data.segment IS
'Up to 65,536 sealed chunks of one collection and language; one array entry a chunk, in the order '
'of their ids. terms are in ascending order, document_frequencies (uint16) are less by one: with '
'them one knows where in the postings those of a term are. dead lists the ordinals of deleted '
'chunks (int32), bytes is the size of arrays and postings. signature is of all but dead.';

CREATE TABLE pgblend_data.index_secret (
    secret bytea NOT NULL CONSTRAINT index_secret_pkey PRIMARY KEY
);
INSERT INTO pgblend_data.index_secret
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
COMMENT ON TABLE pgblend_data.index_secret IS
'What segments are signed with: a saved one is loaded where this database wrote it. No role of '
'ours reads it.';

CREATE TABLE pgblend_data.posting (
    segment_id bigint NOT NULL,
    block integer NOT NULL,
    collection_id bigint NOT NULL,
    data bytea NOT NULL,
    CONSTRAINT posting_pkey PRIMARY KEY (segment_id, block)
) WITH (toast_tuple_target = 8160);
ALTER TABLE pgblend_data.posting ALTER COLUMN data SET STORAGE EXTERNAL;
COMMENT ON TABLE pgblend_data.posting IS
'A segment''s postings by term, in blocks of a page: the chunks that have the term (uint16 '
'ordinals), then for each a code into the segment''s code_book for how often, by field, of its own '
'and repeated.';

CREATE TABLE pgblend_data.tombstone (
    chunk_id bigint NOT NULL,
    collection_id bigint NOT NULL,
    text_search_config text NOT NULL,
    CONSTRAINT tombstone_pkey PRIMARY KEY (chunk_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX tombstone_collection_id_btree
ON pgblend_data.tombstone USING btree (collection_id, text_search_config);
COMMENT ON TABLE pgblend_data.tombstone IS
'Chunks deleted since they were sealed; the next seal moves them to their segment''s dead list.';

CREATE TABLE pgblend_data.vocabulary (
    collection_id bigint NOT NULL,
    text_search_config text NOT NULL,
    lexeme text COLLATE "C" NOT NULL
);
-- One word may be there twice, so no key names a row to a publication.
ALTER TABLE pgblend_data.vocabulary REPLICA IDENTITY FULL;
CREATE INDEX vocabulary_collection_id_btree
ON pgblend_data.vocabulary USING btree (collection_id, text_search_config, lexeme);
CREATE INDEX vocabulary_lexeme_gin
ON pgblend_data.vocabulary USING gin (lexeme gin_trgm_ops) WITH (gin_pending_list_limit = 256);
COMMENT ON TABLE pgblend_data.vocabulary IS
'The lexemes of each collection and language, for misspelt words; written in the chunk''s own '
'transaction. One may be there twice, or be left over from deleted chunks, until a rebuild.';

CREATE TABLE pgblend_data.lexical_failure (
    collection_id bigint NOT NULL,
    message text NOT NULL,
    failed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT lexical_failure_pkey PRIMARY KEY (collection_id),
    CONSTRAINT lexical_failure_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.lexical_failure IS
'Why the last seal of a collection failed; the next one that succeeds deletes it.';
