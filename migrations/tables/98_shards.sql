-- Shards: empty on one node. A coordinator has shard, shard_bucket, shard_outbox and its front's
-- version; each of its shards has shard_self.

CREATE TABLE pgblend_data.shard (
    number integer NOT NULL,
    name text NOT NULL,
    pushed_version bigint NOT NULL DEFAULT -1,
    direct text,
    CONSTRAINT shard_pkey PRIMARY KEY (number),
    CONSTRAINT shard_name_key UNIQUE (name),
    CONSTRAINT shard_number_check CHECK (number BETWEEN 0 AND 255)
);
COMMENT ON TABLE pgblend_data.shard IS
'The shards of this coordinator; where they are is in the options of the server pgblend_shards.';
COMMENT ON COLUMN pgblend_data.shard.number IS
'Its partition of that server, and its block of ids: number * 2^40 + 1 and on.';

COMMENT ON COLUMN pgblend_data.shard.pushed_version IS
'Version of the front that it was last given.';

COMMENT ON COLUMN pgblend_data.shard.direct IS
'Connection string of the command line, where searches go by a pooler; NULL: theirs.';

CREATE TABLE pgblend_data.shard_bucket (
    bucket smallint NOT NULL,
    shard integer NOT NULL,
    CONSTRAINT shard_bucket_pkey PRIMARY KEY (bucket),
    CONSTRAINT shard_bucket_shard_fkey FOREIGN KEY (shard) REFERENCES pgblend_data.shard (number),
    CONSTRAINT shard_bucket_check CHECK (bucket BETWEEN 0 AND 4095)
);
COMMENT ON TABLE pgblend_data.shard_bucket IS
'Which shard has the documents of a bucket (pgblend._bucket).';

CREATE TABLE pgblend_data.shard_front (
    is_only boolean NOT NULL DEFAULT true,
    version bigint NOT NULL,
    CONSTRAINT shard_front_pkey PRIMARY KEY (is_only),
    CONSTRAINT shard_front_is_only_check CHECK (is_only)
);
COMMENT ON TABLE pgblend_data.shard_front IS
'How often collections, grants, settings, profiles and spaces were changed on this coordinator.';

CREATE TABLE pgblend_data.shard_self (
    is_only boolean NOT NULL DEFAULT true,
    number integer NOT NULL,
    front_version bigint NOT NULL,
    is_moved boolean NOT NULL DEFAULT false,
    CONSTRAINT shard_self_pkey PRIMARY KEY (is_only),
    CONSTRAINT shard_self_is_only_check CHECK (is_only)
);
COMMENT ON TABLE pgblend_data.shard_self IS
'Which shard of a coordinator this database is, and of which version its front is.';
COMMENT ON COLUMN pgblend_data.shard_self.is_moved IS
'Whether it takes no changes of documents: it is being split or moved, or was.';

CREATE TABLE pgblend_data.shard_copy (
    document_id bigint NOT NULL,
    marker bigint NOT NULL,
    CONSTRAINT shard_copy_pkey PRIMARY KEY (document_id)
);
COMMENT ON TABLE pgblend_data.shard_copy IS
'While this database gets what a shard has: which version of each document it has.';

CREATE TABLE pgblend_data.shard_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    source_key text,
    noted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT shard_outbox_pkey PRIMARY KEY (id),
    CONSTRAINT shard_outbox_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.attached_table (collection_id) ON DELETE CASCADE
);
CREATE INDEX shard_outbox_key_btree
ON pgblend_data.shard_outbox USING btree (collection_id, bucket, source_key);
COMMENT ON TABLE pgblend_data.shard_outbox IS
'Which rows of attached tables have changed and wait for their shard, which gets them as they are '
'then.';
COMMENT ON COLUMN pgblend_data.shard_outbox.source_key IS
'Key of the row; NULL: documents of the bucket whose row is gone are to be found.';

-- Keys of rows are for those who may see all rows of the table.
CREATE POLICY shard_outbox_admin ON pgblend_data.shard_outbox USING (
    (SELECT pg_has_role('pgblend_admin', 'USAGE'))
    AND collection_id IN (
        SELECT a.collection_id FROM pgblend_data.attached_table AS a
        WHERE has_table_privilege(a.relation, 'SELECT') AND NOT row_security_active(a.relation)
    )
);
ALTER TABLE pgblend_data.shard_outbox ENABLE ROW LEVEL SECURITY;

CREATE TABLE pgblend_data.graph_change (
    id bigint GENERATED ALWAYS AS IDENTITY,
    collection_id bigint NOT NULL,
    name text,
    node bigint,
    source_key text,
    noted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT graph_change_pkey PRIMARY KEY (id),
    CONSTRAINT graph_change_one_check CHECK (num_nonnulls(name, node, source_key) = 1)
);
COMMENT ON TABLE pgblend_data.graph_change IS
'What changed on this shard that edges from or to other shards hang on, until the coordinator has '
'looked.';
COMMENT ON COLUMN pgblend_data.graph_change.name IS
'A name that documents or links have now, or had.';
COMMENT ON COLUMN pgblend_data.graph_change.node IS
'A node that went, or may be an entity without an edge.';
COMMENT ON COLUMN pgblend_data.graph_change.source_key IS
'Key of an attached table''s row that came, or whose foreign keys changed.';

CREATE POLICY graph_change_admin ON pgblend_data.graph_change
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
CREATE POLICY graph_change_write ON pgblend_data.graph_change USING (
    collection_id IN (
        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
        WHERE g.privilege = 'write'
    )
);
ALTER TABLE pgblend_data.graph_change ENABLE ROW LEVEL SECURITY;
