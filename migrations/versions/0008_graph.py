"""The graph: names of documents, links as they were written, edges between nodes, entities."""

from alembic import op

from pgblend.migrations.replace_routines import execute_script

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# A link is what a document says; an edge is where it leads. An edge is two rows, one with each of
# its ends, so that a walk in either direction reads rows of its own node alone (DESIGN: shards).
# No foreign key leaves a document: triggers take edges away with what they belong to.
TABLES = """
CREATE TABLE pgblend_data.document_name (
    collection_id bigint NOT NULL,
    document_id bigint NOT NULL,
    bucket smallint NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    full_name text NOT NULL,
    CONSTRAINT document_name_pkey PRIMARY KEY (document_id, name, kind, full_name),
    CONSTRAINT document_name_document_id_fkey FOREIGN KEY (document_id)
    REFERENCES pgblend_data.document (id) ON DELETE CASCADE,
    CONSTRAINT document_name_kind_check CHECK (kind IN ('path', 'stem', 'uri', 'alias', 'title'))
);
CREATE INDEX document_name_name_btree
ON pgblend_data.document_name USING btree (collection_id, name);
COMMENT ON TABLE pgblend_data.document_name IS
'Names that links and texts may call a document by, normalised: its path, the last part of it, its '
'URI, its aliases and its title.';
COMMENT ON COLUMN pgblend_data.document_name.full_name IS
'Of an alias or a path the whole, where name is its last part only.';

CREATE TABLE pgblend_data.link (
    id bigint GENERATED ALWAYS AS IDENTITY,
    document_id bigint NOT NULL,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    origin text NOT NULL,
    edge_type text NOT NULL,
    kind text NOT NULL,
    target text NOT NULL,
    name text NOT NULL,
    path text NOT NULL,
    line integer,
    weight real NOT NULL DEFAULT 1,
    metadata jsonb NOT NULL DEFAULT '{}',
    target_document_id bigint,
    CONSTRAINT link_pkey PRIMARY KEY (id),
    CONSTRAINT link_document_id_fkey FOREIGN KEY (document_id)
    REFERENCES pgblend_data.document (id) ON DELETE CASCADE,
    CONSTRAINT link_origin_check CHECK (origin IN ('text', 'data')),
    CONSTRAINT link_kind_check CHECK (kind IN ('path', 'wiki', 'uri', 'key', 'name')),
    CONSTRAINT link_edge_type_check CHECK (edge_type <> '' AND octet_length(edge_type) <= 200),
    CONSTRAINT link_weight_check CHECK (weight BETWEEN 0 AND 1000000),
    CONSTRAINT link_metadata_object_check CHECK (jsonb_typeof(metadata) = 'object')
);
CREATE INDEX link_document_id_btree ON pgblend_data.link USING btree (document_id);
CREATE INDEX link_name_btree ON pgblend_data.link USING btree (collection_id, name);
CREATE INDEX link_target_document_id_btree ON pgblend_data.link USING btree (target_document_id)
WHERE target_document_id IS NOT NULL;
COMMENT ON TABLE pgblend_data.link IS
'What documents say about others, as it is written; without a target_document_id it dangles until '
'a document of that name arrives.';

CREATE TABLE pgblend_data.edge (
    node bigint NOT NULL,
    is_reverse boolean NOT NULL,
    neighbour bigint NOT NULL,
    edge_type text NOT NULL,
    origin text NOT NULL,
    document_id bigint NOT NULL DEFAULT 0,
    chunk_id bigint NOT NULL DEFAULT 0,
    collection_id bigint NOT NULL,
    neighbour_collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    weight real NOT NULL DEFAULT 1,
    metadata jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT edge_pkey
    PRIMARY KEY (node, is_reverse, neighbour, edge_type, origin, document_id, chunk_id)
    INCLUDE (weight, collection_id, neighbour_collection_id),
    CONSTRAINT edge_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE,
    CONSTRAINT edge_neighbour_collection_id_fkey FOREIGN KEY (neighbour_collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE,
    CONSTRAINT edge_loop_check CHECK (node <> neighbour),
    CONSTRAINT edge_type_check CHECK (edge_type <> '' AND octet_length(edge_type) <= 200),
    CONSTRAINT edge_origin_check CHECK (
        origin IN ('text', 'data', 'hand', 'mention', 'model', 'key')
    ),
    CONSTRAINT edge_weight_check CHECK (weight BETWEEN 0 AND 1000000),
    CONSTRAINT edge_metadata_object_check CHECK (jsonb_typeof(metadata) = 'object')
);
CREATE INDEX edge_document_id_btree ON pgblend_data.edge USING btree (document_id)
WHERE document_id <> 0;
CREATE INDEX edge_chunk_id_btree ON pgblend_data.edge USING btree (chunk_id) WHERE chunk_id <> 0;
CREATE INDEX edge_collection_id_btree ON pgblend_data.edge USING btree (collection_id);
CREATE INDEX edge_neighbour_collection_id_btree
ON pgblend_data.edge USING btree (neighbour_collection_id);
COMMENT ON TABLE pgblend_data.edge IS
'Edges between nodes, two rows each: with its source, and, is_reverse, with its target. A node is '
'four times an id, plus 0 for a document, 1 for a chunk, 2 for an entity.';
COMMENT ON COLUMN pgblend_data.edge.origin IS
'Who says so: text (a link in it), data (given with the document), hand, mention (a text names '
'another document), model, key (a foreign key).';
COMMENT ON COLUMN pgblend_data.edge.document_id IS
'The document that says so, and takes the edge along when it goes; 0 where none does.';
COMMENT ON COLUMN pgblend_data.edge.chunk_id IS
'The passage that says so; 0 where the edge does not hang on one.';
COMMENT ON COLUMN pgblend_data.edge.bucket IS 'The part of the store that node belongs to.';

CREATE TABLE pgblend_data.entity (
    id bigint GENERATED ALWAYS AS IDENTITY,
    collection_id bigint NOT NULL,
    bucket smallint NOT NULL,
    entity_type text NOT NULL,
    name_key text NOT NULL,
    name text NOT NULL,
    description text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT entity_pkey PRIMARY KEY (id),
    CONSTRAINT entity_collection_id_entity_type_name_key_key
    UNIQUE (collection_id, entity_type, name_key),
    CONSTRAINT entity_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE,
    CONSTRAINT entity_name_check CHECK (name <> '' AND name_key <> ''),
    CONSTRAINT entity_entity_type_check CHECK (entity_type <> '')
);
CREATE INDEX entity_name_key_btree
ON pgblend_data.entity USING btree (collection_id, name_key);
COMMENT ON TABLE pgblend_data.entity IS
'People, places, things that passages speak of, one row for each normalised name and type of a '
'collection.';

CREATE TABLE pgblend_data.entity_extraction (
    collection_id bigint NOT NULL,
    content_hash text NOT NULL,
    version text NOT NULL,
    result jsonb NOT NULL,
    extracted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT entity_extraction_pkey PRIMARY KEY (collection_id, content_hash, version),
    CONSTRAINT entity_extraction_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.entity_extraction IS
'What a model found in a text, by the text''s hash and the version of model and prompt: the same '
'text is asked about once.';
"""

# An edge tells that its other end exists, so both ends must be visible.
SECURE_EDGE = """
CREATE POLICY edge_read ON pgblend_data.edge FOR SELECT USING (
    collection_id IN (SELECT c.id FROM pgblend_data.collection AS c)
    AND neighbour_collection_id IN (SELECT c.id FROM pgblend_data.collection AS c)
);
CREATE POLICY edge_write ON pgblend_data.edge USING (
    collection_id IN (
        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
        WHERE g.privilege = 'write'
    )
    AND neighbour_collection_id IN (SELECT c.id FROM pgblend_data.collection AS c)
);
CREATE POLICY edge_admin ON pgblend_data.edge
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.edge ENABLE ROW LEVEL SECURITY;
"""

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

# S3, literally. Its scores are added as they are.
PROFILE = """
INSERT INTO pgblend_data.profile (name, built_in, description, settings) VALUES
('graph', true,
'Vectors and graph: max(2 n, 20) hits by cosine, expanded by one step in either direction; the sum '
'of cosine and 1 / (1 + depth), each 0 where it did not find the passage.',
'{
    "mode": "fast", "rrf_k": 60, "fusion": "rrf", "fuzzy": "off", "dedup": "off",
    "fused_scale": "raw",
    "weights": {
        "lexical": 0, "vector": 1, "fuzzy": 0,
        "lexical_variant": 0, "vector_variant": 0, "hyde": 0},
    "graph": {
        "weight": 1, "depth": 1, "direction": "both", "edge_types": null, "seeds": 10000,
        "node_limit": 10000, "combine": "sum"},
    "mmr": {"lambda": 1, "pool": 50},
    "bonus": {"kind": "none"},
    "over_fetch": {"factor": 2, "minimum": 20}
}');
"""

DROP = """
DELETE FROM pgblend_data.setting AS s
WHERE s.name = 'default_profile' AND s.value = '"graph"';
DELETE FROM pgblend_data.profile WHERE name = 'graph';
DROP TABLE
pgblend_data.entity_extraction, pgblend_data.entity, pgblend_data.edge, pgblend_data.link,
pgblend_data.document_name;
"""

SECURED_TABLES = ("document_name", "link", "entity", "entity_extraction")


def upgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, TABLES)
    for table in SECURED_TABLES:
        execute_script(connection, SECURE_TABLE.format(table=table))
    execute_script(connection, SECURE_EDGE)
    execute_script(connection, PROFILE)


def downgrade() -> None:
    execute_script(op.get_bind(), DROP)
