-- Collections, who may read or write them, and their languages. Small: they would be copied to
-- every shard, as embedding_space would. document, chunk, embedding_queue and the embedding tables
-- are the store: each row carries collection, document and bucket, and no foreign key leaves a
-- document.

CREATE TABLE pgblend_data.collection (
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    text_search_config text NOT NULL,
    settings jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    buckets int4multirange,
    parent_id bigint,
    readers_digest text,
    CONSTRAINT collection_pkey PRIMARY KEY (id),
    CONSTRAINT collection_name_key UNIQUE NULLS NOT DISTINCT (name, readers_digest),
    CONSTRAINT collection_parent_id_fkey FOREIGN KEY (parent_id)
    REFERENCES pgblend_data.collection (id),
    CONSTRAINT collection_compartment_check CHECK ((parent_id IS NULL) = (readers_digest IS NULL)),
    CONSTRAINT collection_name_check CHECK (
        name <> '' AND name = btrim(name) AND name IS NFC NORMALIZED),
    CONSTRAINT collection_settings_object_check CHECK (jsonb_typeof(settings) = 'object'),
    CONSTRAINT collection_buckets_check CHECK (buckets <@ '[0,4096)'::int4range AND buckets <> '{}')
);
COMMENT ON TABLE pgblend_data.collection IS
'A collection of documents: the boundary for visibility and for word statistics.';
COMMENT ON COLUMN pgblend_data.collection.buckets IS
'Where its documents are (pgblend._bucket), as it was made with; NULL: in all 4,096 buckets.';
COMMENT ON COLUMN pgblend_data.collection.parent_id IS
'The collection that this is a compartment of: it has its name, and the documents of one set of '
'readers. NULL: a collection itself.';
COMMENT ON COLUMN pgblend_data.collection.readers_digest IS
'Tells the set of readers of a compartment, without naming them to each other.';
CREATE INDEX collection_parent_id_btree ON pgblend_data.collection USING btree (
    parent_id, readers_digest
)
WHERE parent_id IS NOT NULL;

CREATE TABLE pgblend_data.collection_grant (
    collection_id bigint NOT NULL,
    role_name name NOT NULL,
    privilege text NOT NULL,
    granted_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    granted_at timestamptz NOT NULL DEFAULT now(),
    role_oid oid,
    made_in bigint NOT NULL DEFAULT (pg_control_system()).system_identifier,
    CONSTRAINT collection_grant_pkey PRIMARY KEY (collection_id, role_name, privilege),
    CONSTRAINT collection_grant_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE,
    CONSTRAINT collection_grant_privilege_check CHECK (privilege IN ('read', 'write'))
);
COMMENT ON TABLE pgblend_data.collection_grant IS
'Who may read or write a collection; the row security of all tables follows it.';
COMMENT ON COLUMN pgblend_data.collection_grant.role_oid IS
'The role as it was granted to: one made later under the name is another, and has no grant.';
COMMENT ON COLUMN pgblend_data.collection_grant.made_in IS
'Server whose numbers of roles these are; in another one, after a restore, the name alone counts.';

CREATE TABLE pgblend_data.document_reader (
    collection_id bigint NOT NULL,
    reader name NOT NULL,
    is_group boolean NOT NULL,
    role_oid oid,
    made_in bigint NOT NULL DEFAULT (pg_control_system()).system_identifier,
    CONSTRAINT document_reader_pkey PRIMARY KEY (collection_id, reader, is_group),
    CONSTRAINT document_reader_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE,
    CONSTRAINT document_reader_reader_check CHECK (reader <> ''),
    CONSTRAINT document_reader_role_check CHECK (is_group = (role_oid IS NULL))
);
CREATE INDEX document_reader_btree ON pgblend_data.document_reader (reader);
COMMENT ON TABLE pgblend_data.document_reader IS
'Who may read the documents of a compartment, beside those who may write to its collection. '
'Routines of the owner write it alone.';
COMMENT ON COLUMN pgblend_data.document_reader.is_group IS
'Whether the reader is a group, which sessions hold by a signed setting; else a role.';
COMMENT ON COLUMN pgblend_data.document_reader.role_oid IS
'The role as it was then: one made later under the name is another, and reads nothing.';
COMMENT ON COLUMN pgblend_data.document_reader.made_in IS
'Server whose numbers of roles these are; in another one, after a restore, the name alone counts.';

-- Sessions keep what a role may read for as long as nothing of it changes (90_row_security.sql).
-- Rows are added alone, so nobody waits; _note_collection_change deletes those that are many.
CREATE TABLE pgblend_data.collection_change (
    transaction_id xid8 NOT NULL,
    index_table name
);
CREATE INDEX collection_change_btree ON pgblend_data.collection_change (transaction_id);
-- For publications FOR ALL TABLES, as of collection_language. So there is no unique key either.
ALTER TABLE pgblend_data.collection_change REPLICA IDENTITY FULL;
COMMENT ON TABLE pgblend_data.collection_change IS
'The last transactions that changed collections, who may read them and their documents, their '
'languages, or their lexical index.';
COMMENT ON COLUMN pgblend_data.collection_change.index_table IS
'The table of the lexical index that it changed; NULL where it changed anything else.';

CREATE TABLE pgblend_data.group_secret (
    secret bytea NOT NULL CONSTRAINT group_secret_pkey PRIMARY KEY
);
INSERT INTO pgblend_data.group_secret
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
COMMENT ON TABLE pgblend_data.group_secret IS
'What the groups of a session are signed with (sign_groups). No role of ours reads it.';

CREATE TABLE pgblend_data.collection_language (
    collection_id bigint NOT NULL,
    text_search_config text NOT NULL,
    CONSTRAINT collection_language_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.collection_language IS
'Text search configurations that a collection''s documents use: a query is parsed once for each.';
-- No unique key: an open transaction with a language's first document would stop all that follow.
-- What several note at once is there several times; readers take each once.
CREATE INDEX collection_language_btree ON pgblend_data.collection_language
USING btree (collection_id, text_search_config);
-- For publications FOR ALL TABLES, which else stop deletes.
ALTER TABLE pgblend_data.collection_language REPLICA IDENTITY FULL;
