-- Users' tables that the index follows. Tables and columns are kept by name: a regclass follows a
-- renamed table and survives a dump, and a column that is gone is to be reported. One table a
-- collection, since its keys are source keys.

CREATE TABLE pgblend_data.attached_table (
    id integer GENERATED ALWAYS AS IDENTITY,
    relation regclass NOT NULL,
    table_name text NOT NULL,
    collection_id bigint NOT NULL,
    made_collection boolean NOT NULL,
    key_columns text[] NOT NULL,
    text_columns text[] NOT NULL,
    title_column text,
    metadata_columns text[] NOT NULL,
    uri_column text,
    modified_column text,
    tenant_column text,
    rights_column text,
    row_filter text,
    filter_columns text[] NOT NULL DEFAULT '{}',
    text_format text NOT NULL DEFAULT 'plain',
    embedding_column text,
    space text,
    embed_long_rows boolean NOT NULL DEFAULT false,
    table_owner name NOT NULL,
    row_level boolean NOT NULL,
    is_view boolean NOT NULL DEFAULT false,
    shape text NOT NULL DEFAULT '',
    key_of text NOT NULL DEFAULT '',
    relevant text NOT NULL DEFAULT '',
    foreign_keys text[] NOT NULL,
    partitions regclass[] NOT NULL DEFAULT '{}',
    filled_to text[],
    filled boolean NOT NULL DEFAULT false,
    problem text,
    attached_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    attached_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT attached_table_pkey PRIMARY KEY (id),
    CONSTRAINT attached_table_relation_key UNIQUE (relation),
    CONSTRAINT attached_table_collection_id_key UNIQUE (collection_id),
    CONSTRAINT attached_table_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id),
    CONSTRAINT attached_table_space_fkey FOREIGN KEY (space)
    REFERENCES pgblend_data.embedding_space (name),
    CONSTRAINT attached_table_space_check CHECK ((space IS NULL) = (embedding_column IS NULL)),
    CONSTRAINT attached_table_key_columns_check CHECK (cardinality(key_columns) > 0),
    CONSTRAINT attached_table_text_columns_check CHECK (cardinality(text_columns) > 0),
    CONSTRAINT attached_table_text_format_check CHECK (text_format IN ('plain', 'html'))
);
COMMENT ON TABLE pgblend_data.attached_table IS
'Users'' tables whose rows are the documents of a collection, kept up by triggers on them.';
COMMENT ON COLUMN pgblend_data.attached_table.tenant_column IS
'Column of whom a row belongs to: searches find the rows of one tenant alone; NULL: of all.';
COMMENT ON COLUMN pgblend_data.attached_table.rights_column IS
'Column of who may read a row beside the collection''s writers; NULL: all who may read that.';
COMMENT ON COLUMN pgblend_data.attached_table.row_filter IS
'Condition of the rows that are documents; NULL: all. Evaluated with the rights of table_owner '
'alone.';
COMMENT ON COLUMN pgblend_data.attached_table.filter_columns IS
'Columns that row_filter reads.';
COMMENT ON COLUMN pgblend_data.attached_table.embedding_column IS
'Column of the row''s vector, which its first passage has; NULL: a model makes vectors.';
COMMENT ON COLUMN pgblend_data.attached_table.space IS
'Embedding space of these vectors.';
COMMENT ON COLUMN pgblend_data.attached_table.embed_long_rows IS
'Whether the model of the space embeds passages after a row''s first.';
COMMENT ON COLUMN pgblend_data.attached_table.table_owner IS
'Who owned the table when it was attached: whoever wrote row_filter could take that role.';
COMMENT ON COLUMN pgblend_data.attached_table.shape IS
'Columns, types and foreign keys that key_of and relevant were made for.';
COMMENT ON COLUMN pgblend_data.attached_table.key_of IS
'SQL over rows t for the source key, kept for triggers.';
COMMENT ON COLUMN pgblend_data.attached_table.relevant IS
'SQL over rows t for all that the index takes of a row, kept for triggers.';
COMMENT ON COLUMN pgblend_data.attached_table.row_level IS
'Whether its triggers fire for each row, also in a subscriber''s apply worker, not each statement.';
COMMENT ON COLUMN pgblend_data.attached_table.is_view IS
'Whether it is a view, whose changes nothing tells: rows come by fill_table alone.';
COMMENT ON COLUMN pgblend_data.attached_table.foreign_keys IS
'Names of the foreign keys that all rows were read with.';
COMMENT ON COLUMN pgblend_data.attached_table.partitions IS
'Partitions that all rows were read from; others came with rows, or went with theirs.';
COMMENT ON COLUMN pgblend_data.attached_table.filled_to IS
'Key of the last row that fill_table brought in; NULL before the first and after the last.';
COMMENT ON COLUMN pgblend_data.attached_table.problem IS
'Why changes could not be followed, since when the table has to be filled anew; NULL where all is '
'well.';

CREATE TABLE pgblend_data.key_reference (
    document_id bigint NOT NULL,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    constraint_name text NOT NULL,
    target regclass NOT NULL,
    target_columns text[] NOT NULL,
    target_key text NOT NULL,
    CONSTRAINT key_reference_pkey PRIMARY KEY (document_id, constraint_name),
    CONSTRAINT key_reference_document_fkey FOREIGN KEY (document_id, collection_id)
    REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE
);
CREATE INDEX key_reference_target_btree
ON pgblend_data.key_reference USING btree (target, target_key);
COMMENT ON TABLE pgblend_data.key_reference IS
'What the foreign keys of attached tables'' rows reference, whether or not that table is attached '
'(yet); where both rows have documents, an edge joins them.';
COMMENT ON COLUMN pgblend_data.key_reference.target IS
'The referenced table; 0 on a shard, whose coordinator has the table.';
COMMENT ON COLUMN pgblend_data.key_reference.target_columns IS
'The referenced columns: an edge needs them to be the key_columns of the attached table. On a '
'shard the coordinator''s number of the table comes first.';
COMMENT ON COLUMN pgblend_data.key_reference.target_key IS
'The source key that the document of the referenced row has.';
