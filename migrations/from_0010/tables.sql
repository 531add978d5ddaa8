-- Tables of 0.0.1 (revision 0010) become those of migrations/tables.

-- Who did it is the role in force.
ALTER TABLE pgblend_data.setting ALTER COLUMN changed_by
SET DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user);
ALTER TABLE pgblend_data.setting_history ALTER COLUMN changed_by
SET DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user);
ALTER TABLE pgblend_data.collection_grant ALTER COLUMN granted_by
SET DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user);
ALTER TABLE pgblend_data.profile ALTER COLUMN changed_by
SET DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user);
ALTER TABLE pgblend_data.judged_set ALTER COLUMN created_by
SET DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user);
ALTER TABLE pgblend_data.judgement ALTER COLUMN judged_by
SET DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user);
ALTER TABLE pgblend_data.evaluation_run ALTER COLUMN started_by
SET DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user);
ALTER TABLE pgblend_data.attached_table ALTER COLUMN attached_by
SET DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user);
ALTER TABLE pgblend_data.embedding_worker ALTER COLUMN started_by SET DEFAULT current_user;

-- The search log tells searches from evaluations.
ALTER TABLE pgblend_data.search_log ADD COLUMN purpose text NOT NULL DEFAULT 'search';
COMMENT ON COLUMN pgblend_data.search_log.purpose IS
'search, or what the session said of it (pgblend.purpose): evaluation. Views have searches alone.';

-- Admins read the log's views as members of pgblend_analyst; rights are given again at the end.
REVOKE ALL ON
pgblend.degraded_searches, pgblend.model_costs, pgblend.queries_without_results,
pgblend.search_latency, pgblend.search_volume, pgblend_data.model_call
FROM pgblend_admin, pgblend_gateway;

-- What a table's rows are to be read with.
ALTER TABLE pgblend_data.chunk ADD COLUMN context text;
COMMENT ON COLUMN pgblend_data.chunk.context IS
'What a table''s rows are to be read with: caption, header, labels of rows. It is embedded before '
'content, and its words are in lexemes; NULL: there is none.';
COMMENT ON COLUMN pgblend_data.chunk.own_position IS
'Last position in lexemes that repeats the chunk before: its context, title, heading and end.';

-- Collections may be placed on some of the shards.
ALTER TABLE pgblend_data.collection
ADD COLUMN buckets int4multirange CONSTRAINT collection_buckets_check
CHECK (buckets <@ '[0,4096)'::int4range AND buckets <> '{}');
COMMENT ON COLUMN pgblend_data.collection.buckets IS
'Where its documents are (pgblend._bucket), as it was made with; NULL: in all 4,096 buckets.';

-- How the index of a space is walked, as measured on its vectors (tune_embedding_space).
ALTER TABLE pgblend_data.embedding_space
ADD COLUMN ef_search integer CONSTRAINT embedding_space_ef_search_check
CHECK (ef_search BETWEEN 1 AND 1000),
ADD COLUMN recall double precision,
ADD COLUMN tuned_at timestamptz;
COMMENT ON COLUMN pgblend_data.embedding_space.ef_search IS
'Search list of the index for searches that set none; NULL: not tuned, 100.';
COMMENT ON COLUMN pgblend_data.embedding_space.recall IS
'Share of the nearest passages that the index found so.';
COMMENT ON COLUMN pgblend_data.embedding_space.tuned_at IS 'When that was measured.';

-- Workers are known by a lock of their own.
ALTER TABLE pgblend_data.embedding_worker
ADD COLUMN backend integer NOT NULL DEFAULT pg_backend_pid(),
ADD COLUMN life_lock bigint NOT NULL DEFAULT hashtextextended(gen_random_uuid()::text, 0),
ADD COLUMN waits boolean NOT NULL DEFAULT false;
COMMENT ON TABLE pgblend_data.embedding_worker IS
'Sessions that make vectors and summaries. One lives as long as it holds the lock of its row; what '
'a dead one had claimed is free.';
COMMENT ON COLUMN pgblend_data.embedding_worker.backend IS
'Process id of its session: nobody else holds its lock.';
COMMENT ON COLUMN pgblend_data.embedding_worker.life_lock IS
'Key of the advisory lock that it holds while it lives; random, so that nobody holds it before.';
COMMENT ON COLUMN pgblend_data.embedding_worker.waits IS
'Whether it waits to be told of work (NOTIFY pgblend_embedding).';
ALTER TABLE pgblend_data.document_summary ADD COLUMN worker integer;
COMMENT ON COLUMN pgblend_data.document_summary.worker IS
'Who has it summed up (embedding_worker.id); NULL or a dead worker''s: nobody.';

-- What score is where MMR chooses.
COMMENT ON COLUMN pgblend.search_result.score IS
'In [0, 1], falling with rank: what the stages gave, divided by what a perfect match would get. '
'Where MMR chooses rows for variety (setting mmr) it is the score before that, and may rise: rank '
'is the order.';

-- One trigger writes the lexical index. No search of a reader used the GIN index: row security lets
-- no index answer @@.
DROP INDEX pgblend_data.chunk_lexemes_gin;
DROP TRIGGER chunk_40_index_pending ON pgblend_data.chunk;
DROP TRIGGER chunk_45_add_words ON pgblend_data.chunk;
COMMENT ON COLUMN pgblend_data.pending.length IS
'Number of lexeme occurrences, without identifiers and names: the document length of BM25.';
COMMENT ON COLUMN pgblend_data.pending.own_length IS
'Number of those after the chunk''s own_position: what it adds to its document''s length.';
DROP INDEX pgblend_data.pending_collection_id_btree;
CREATE INDEX pending_collection_id_btree
ON pgblend_data.pending USING btree (collection_id, text_search_config);

-- Every row of a document names its collection. Keys are checked at the end (check_keys.sql).
ALTER TABLE pgblend_data.document
ADD CONSTRAINT document_id_collection_id_key UNIQUE (id, collection_id);
DROP INDEX pgblend_data.chunk_document_id_btree;
ALTER TABLE pgblend_data.chunk
ADD CONSTRAINT chunk_document_id_collection_id_id_key UNIQUE (document_id, collection_id, id),
DROP CONSTRAINT chunk_document_id_chunk_index_key,
ADD CONSTRAINT chunk_document_id_chunk_index_key UNIQUE (document_id, chunk_index, collection_id);
CREATE INDEX chunk_content_hash_btree
ON pgblend_data.chunk USING btree (collection_id, content_hash COLLATE "C");
ALTER TABLE pgblend_data.document_summary
DROP CONSTRAINT document_summary_pkey,
ADD CONSTRAINT document_summary_pkey PRIMARY KEY (document_id, collection_id);
ALTER TABLE pgblend_data.embedding_queue
DROP CONSTRAINT embedding_queue_pkey,
ADD CONSTRAINT embedding_queue_pkey PRIMARY KEY (space, chunk_id, collection_id);
ALTER TABLE pgblend_data.document_name
DROP CONSTRAINT document_name_pkey,
ADD CONSTRAINT document_name_pkey
PRIMARY KEY (document_id, collection_id, name, kind, full_name);
DROP INDEX pgblend_data.link_document_id_btree;
CREATE INDEX link_document_id_btree
ON pgblend_data.link USING btree (document_id, collection_id);
DROP INDEX pgblend_data.embedding_queue_chunk_id_btree;
CREATE INDEX embedding_queue_chunk_id_btree
ON pgblend_data.embedding_queue USING btree (chunk_id, document_id, collection_id);
ALTER TABLE pgblend_data.chunk
DROP CONSTRAINT chunk_document_id_fkey,
ADD CONSTRAINT chunk_document_fkey FOREIGN KEY (document_id, collection_id)
REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE NOT VALID;
ALTER TABLE pgblend_data.document_name
DROP CONSTRAINT document_name_document_id_fkey,
ADD CONSTRAINT document_name_document_fkey FOREIGN KEY (document_id, collection_id)
REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE NOT VALID;
ALTER TABLE pgblend_data.document_summary
DROP CONSTRAINT document_summary_document_id_fkey,
ADD CONSTRAINT document_summary_document_fkey FOREIGN KEY (document_id, collection_id)
REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE NOT VALID;
ALTER TABLE pgblend_data.key_reference
DROP CONSTRAINT key_reference_document_id_fkey,
ADD CONSTRAINT key_reference_document_fkey FOREIGN KEY (document_id, collection_id)
REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE NOT VALID;
COMMENT ON COLUMN pgblend_data.edge.bucket IS
'The part of the store that node belongs to; where it is on another shard, that of who says so.';
COMMENT ON COLUMN pgblend_data.key_reference.target IS
'The referenced table; 0 on a shard, whose coordinator has the table.';
COMMENT ON COLUMN pgblend_data.key_reference.target_columns IS
'The referenced columns: an edge needs them to be the key_columns of the attached table. On a '
'shard the coordinator''s number of the table comes first.';
ALTER TABLE pgblend_data.link
DROP CONSTRAINT link_document_id_fkey,
ADD CONSTRAINT link_document_fkey FOREIGN KEY (document_id, collection_id)
REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE NOT VALID;
ALTER TABLE pgblend_data.edge
DROP CONSTRAINT edge_pkey,
ADD CONSTRAINT edge_pkey PRIMARY KEY (
    node, is_reverse, neighbour, edge_type, origin, document_id, chunk_id,
    collection_id, neighbour_collection_id
) INCLUDE (weight);
-- A passage's row names its document as well. As pgblend._create_embedding_table makes them.
DO $do$
DECLARE
    tied name;
BEGIN
    FOR tied IN
        SELECT 'embedding_queue'
        UNION ALL SELECT s.table_name FROM pgblend_data.embedding_space AS s
    LOOP
        EXECUTE format(
            'ALTER TABLE pgblend_data.%1$I DROP CONSTRAINT %2$I,
            ADD CONSTRAINT %3$I FOREIGN KEY (chunk_id, document_id, collection_id)
            REFERENCES pgblend_data.chunk (id, document_id, collection_id)
            ON DELETE CASCADE NOT VALID',
            tied, tied || '_chunk_id_fkey', tied || '_chunk_fkey');
        IF tied <> 'embedding_queue' THEN
            EXECUTE format(
                'CREATE POLICY %2$I ON pgblend_data.%1$I AS RESTRICTIVE USING (true) WITH CHECK (
                    (document_id, collection_id) = (
                        SELECT c.document_id, c.collection_id FROM pgblend_data.chunk AS c
                        WHERE c.id = chunk_id))',
                tied, tied || '_own');
        END IF;
    END LOOP;
END
$do$;

ALTER TABLE pgblend_data.segment ALTER COLUMN document_frequencies SET STORAGE EXTERNAL,
ALTER COLUMN chunk_ids SET STORAGE EXTERNAL, ALTER COLUMN document_ids SET STORAGE EXTERNAL,
ALTER COLUMN lengths SET STORAGE EXTERNAL, ALTER COLUMN own_lengths SET STORAGE EXTERNAL;

-- Rights come by column now (99_access), so that nobody takes the id of a row to come; the lexical
-- index is written by routines of its owner.
REVOKE INSERT, UPDATE, DELETE ON
pgblend_data.embedding_allowance, pgblend_data.pending, pgblend_data.posting, pgblend_data.segment,
pgblend_data.tombstone, pgblend_data.vocabulary
FROM pgblend_writer;
REVOKE INSERT ON
pgblend_data.chunk, pgblend_data.document, pgblend_data.embedding_worker, pgblend_data.entity,
pgblend_data.evaluation_run, pgblend_data.judged_query, pgblend_data.judged_set, pgblend_data.link
FROM pgblend_writer;
REVOKE INSERT ON pgblend_data.setting_history FROM pgblend_admin;
