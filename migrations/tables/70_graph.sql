-- The graph: names of documents, links as they were written, edges between nodes, entities. A link
-- is what a document says; an edge is where it leads. An edge is two rows, one with each of its
-- ends, so that a walk in either direction reads rows of its own node alone (shards). No foreign
-- key leaves a document: triggers take edges away with what they belong to, and look once a
-- statement whether each end is of the collection that it names.

CREATE TABLE pgblend_data.document_name (
    collection_id bigint NOT NULL,
    document_id bigint NOT NULL,
    bucket smallint NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    full_name text NOT NULL,
    CONSTRAINT document_name_document_fkey FOREIGN KEY (document_id, collection_id)
    REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE,
    CONSTRAINT document_name_kind_check CHECK (kind IN ('path', 'stem', 'uri', 'alias', 'title'))
);
CREATE INDEX document_name_name_btree
ON pgblend_data.document_name USING btree (name, collection_id);
ALTER TABLE pgblend_data.document_name ADD CONSTRAINT document_name_pkey
PRIMARY KEY (document_id, collection_id, name, kind, full_name);
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
    CONSTRAINT link_document_fkey FOREIGN KEY (document_id, collection_id)
    REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE,
    CONSTRAINT link_origin_check CHECK (origin IN ('text', 'data')),
    CONSTRAINT link_kind_check CHECK (kind IN ('path', 'wiki', 'uri', 'key', 'name')),
    CONSTRAINT link_edge_type_check CHECK (edge_type <> '' AND octet_length(edge_type) <= 200),
    CONSTRAINT link_weight_check CHECK (weight BETWEEN 0 AND 1000000),
    CONSTRAINT link_metadata_object_check CHECK (jsonb_typeof(metadata) = 'object'),
    CONSTRAINT link_metadata_readable_check CHECK (
        NOT jsonb_path_exists(metadata, '$.**{100}') AND NOT jsonb_path_exists(
            metadata, '$.** ? (@.type() == "number" && (@.abs() >= 1e4300
                || @.abs() >= 1e308 && @.floor() != @))')
    )
);
CREATE INDEX link_name_btree ON pgblend_data.link USING btree (name, collection_id);
CREATE INDEX link_target_document_id_btree ON pgblend_data.link USING btree (target_document_id)
WHERE target_document_id IS NOT NULL;
CREATE INDEX link_document_id_btree
ON pgblend_data.link USING btree (document_id, collection_id);
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
    CONSTRAINT edge_pkey PRIMARY KEY (
        node, is_reverse, neighbour, edge_type, origin, document_id, chunk_id,
        collection_id, neighbour_collection_id
    ) INCLUDE (weight),
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
    CONSTRAINT edge_metadata_object_check CHECK (jsonb_typeof(metadata) = 'object'),
    CONSTRAINT edge_metadata_readable_check CHECK (
        NOT jsonb_path_exists(metadata, '$.**{100}') AND NOT jsonb_path_exists(
            metadata, '$.** ? (@.type() == "number" && (@.abs() >= 1e4300
                || @.abs() >= 1e308 && @.floor() != @))')
    )
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
COMMENT ON COLUMN pgblend_data.edge.bucket IS
'The part of the store that node belongs to; where it is on another shard, that of who says so.';

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
