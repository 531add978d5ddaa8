"""What users found on 0.0.1, the version of revision 0010."""

from alembic import op

from pgblend.migrations import public_schema, search_path
from pgblend.migrations.replace_routines import execute_script, replace_routines, snapshot

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


# --- literal profiles rank words as their sources do
# S2 matches by websearch_to_tsquery, ranks by ts_rank_cd, and expands whatever the words found; the
# others say BM25. The history is of what people change: a release says what it changes itself.
PROFILES = """
ALTER TABLE pgblend_data.profile DISABLE TRIGGER profile_10_record_history;
{}
ALTER TABLE pgblend_data.profile ENABLE TRIGGER profile_10_record_history;
"""
LITERAL_WORDS = PROFILES.format("""
UPDATE pgblend_data.profile
SET settings = settings || '{"lexical_method": "ts_rank_cd", "strong_signal": {"score": 1000}}'
WHERE name = 'three_arm';
UPDATE pgblend_data.profile SET settings = settings || '{"lexical_method": "bm25"}'
WHERE name IN ('gno_epic', 'gno', 'rrf_mmr');
""")
WORDS_BEFORE = PROFILES.format("""
UPDATE pgblend_data.profile
SET settings = settings - '{lexical_method,strong_signal}'::text[] WHERE name = 'three_arm';
UPDATE pgblend_data.profile SET settings = settings - 'lexical_method' WHERE built_in;
""")

# Feedback did not help on sets other than those that chose it; its pool was on a scale of its own.
NO_FEEDBACK = (
    PROFILES.format("""
UPDATE pgblend_data.profile SET
description =
'The default: words and vectors by convex fusion, each counting the more, the further apart its '
'scores are.',
settings = settings - 'feedback'
WHERE name = 'balanced';
UPDATE pgblend_data.profile
SET settings = settings #- '{feedback,pool}' WHERE settings #> '{feedback,pool}' IS NOT NULL;
""")
    + """
UPDATE pgblend_data.collection
SET settings = settings #- '{feedback,pool}' WHERE settings #> '{feedback,pool}' IS NOT NULL;
UPDATE pgblend_data.setting
SET value = value - 'pool' WHERE name = 'feedback' AND value ? 'pool';
"""
)
FEEDBACK_BEFORE = PROFILES.format("""
UPDATE pgblend_data.profile SET
description =
'The default: words and vectors by convex fusion, each counting the more, the further apart its '
'scores are; the query''s vector is moved towards the first two passages.',
settings = settings || '{"feedback": {"passages": 2, "weight": 0.5}}'
WHERE name = 'balanced';
""")

# The weight was chosen on one of two sets of questions on code, and judged on the other.
CODE = """
INSERT INTO pgblend_data.profile (name, built_in, description, settings) VALUES
('code', true,
'Balanced for questions on source code in plain language, whose words code has in other ways: '
'vectors count three times as much.',
'{
    "fusion": "convex", "normalization": {"method": "spread"},
    "weights": {
        "lexical": 1, "vector": 6, "fuzzy": 1,
        "lexical_variant": 0.5, "vector_variant": 3, "hyde": 4.2}
}')
ON CONFLICT (name) DO NOTHING;
"""
NO_CODE = "DELETE FROM pgblend_data.profile WHERE name = 'code' AND built_in;"

# 0010 would refuse a collection or a profile with a setting that it does not know.
FORGET_SETTINGS = """
UPDATE pgblend_data.profile
SET settings = settings - 'lexical_method' WHERE settings ? 'lexical_method';
UPDATE pgblend_data.collection
SET settings = settings - 'lexical_method' WHERE settings ? 'lexical_method';
DELETE FROM pgblend_data.setting WHERE name IN ('lexical_method', 'limits');
"""


# --- the search log tells searches from evaluations
PURPOSE = """
ALTER TABLE pgblend_data.search_log ADD COLUMN purpose text NOT NULL DEFAULT 'search';
COMMENT ON COLUMN pgblend_data.search_log.purpose IS
'search, or what the session said of it (pgblend.purpose): evaluation. Views have searches alone.';
"""
NO_PURPOSE = "ALTER TABLE pgblend_data.search_log DROP COLUMN purpose;"

# How the index of a space is walked, as measured on its vectors (tune_embedding_space).
TUNED = """
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
"""
# A view that is replaced cannot lose columns.
NO_TUNED_COLUMNS = "DROP VIEW pgblend.embedding_spaces;"
NOT_TUNED = """
ALTER TABLE pgblend_data.embedding_space
DROP COLUMN ef_search, DROP COLUMN recall, DROP COLUMN tuned_at;
"""


# --- what score is where MMR chooses
SCORE = """
COMMENT ON COLUMN pgblend.search_result.score IS
'In [0, 1], falling with rank: what the stages gave, divided by what a perfect match would get. '
'Where MMR chooses rows for variety (setting mmr) it is the score before that, and may rise: rank '
'is the order.';
"""
SCORE_BEFORE = """
COMMENT ON COLUMN pgblend.search_result.score IS
'In [0, 1], falling with rank: what the stages gave, divided by what a perfect match would get.';
"""


# --- documents are found by their names
# A document's first chunk has its names: those that were there get them, or lose them again.
ADD_NAMES = """
ALTER TABLE pgblend_data.chunk DISABLE TRIGGER chunk_20_immutable;
UPDATE pgblend_data.chunk AS c
SET lexemes = c.lexemes || pgblend._name_lexemes(
    pgblend._regconfig(c.text_search_config), d.source_key, ts_filter(c.lexemes, '{a}'))
FROM pgblend_data.document AS d
WHERE d.id = c.document_id AND c.chunk_index = 0;
"""
REMOVE_NAMES = r"""
ALTER TABLE pgblend_data.chunk DISABLE TRIGGER chunk_20_immutable;
UPDATE pgblend_data.chunk AS c
SET lexemes = ts_filter(c.lexemes, '{a,b,d}') || coalesce((
    SELECT string_agg(
        '''' || replace(replace(l.lexeme, '\', '\\'), '''', '''''') || ''':1C', ' ')::tsvector
    FROM unnest(c.lexemes) AS l
    WHERE l.lexeme ~ '^=[^=]'), '')
WHERE c.chunk_index = 0;
"""
# The lexical index is derived from the lexemes. Without numpy there is none.
INDEX_NAMES = """
ALTER TABLE pgblend_data.chunk ENABLE TRIGGER chunk_20_immutable;
UPDATE pgblend_data.pending AS p
SET records = pgblend._pack_lexemes(c.lexemes, c.own_position)
FROM pgblend_data.chunk AS c
WHERE c.id = p.chunk_id AND c.chunk_index = 0;
SELECT pgblend._lock_segments(c.id), pgblend._rebuild_collection(c.id)
FROM pgblend_data.collection AS c WHERE pgblend._has_numpy();
"""


# --- languages that their script tells
# Those of plpy/text/language.py; none has a stemmer.
LANGUAGES = {
    "ja": "Japanese",
    "km": "Khmer",
    "ko": "Korean",
    "lo": "Lao",
    "my": "Burmese",
    "th": "Thai",
    "zh": "Chinese",
}
CREATE_LANGUAGES = "".join(
    f"CREATE TEXT SEARCH CONFIGURATION pgblend.{code} (COPY = pg_catalog.simple);"
    f"COMMENT ON TEXT SEARCH CONFIGURATION pgblend.{code} IS"
    f" '{name}, which pgblend writes as pairs of syllables for the parser.';"
    for code, name in LANGUAGES.items()
)
DROP_LANGUAGES = f"""
DROP TEXT SEARCH CONFIGURATION {", ".join(f"pgblend.{code}" for code in LANGUAGES)};
"""

# Only those whose language was detected (simple) or not named (the collection's).
TELL_LANGUAGES = """
UPDATE pgblend_data.document AS d
SET text_search_config = told.language
FROM (
    SELECT e.id, pgblend._document_language(e.text_search_config, e.title, (
        SELECT string_agg(c.content, ' ' ORDER BY c.chunk_index)
        FROM pgblend_data.chunk AS c
        WHERE c.document_id = e.id AND c.chunk_index < 3)) AS language
    FROM pgblend_data.document AS e
    INNER JOIN pgblend_data.collection AS n ON n.id = e.collection_id
    WHERE e.text_search_config IN ('simple', n.text_search_config)
) AS told
WHERE told.id = d.id AND told.language <> d.text_search_config;
"""
FORGET_LANGUAGES = f"""
UPDATE pgblend_data.document AS d
SET text_search_config = 'simple'
WHERE d.text_search_config IN ('{"', '".join(LANGUAGES)}');
UPDATE pgblend_data.collection AS n
SET text_search_config = 'simple'
WHERE n.text_search_config IN ('{"', '".join(LANGUAGES)}');
DELETE FROM pgblend_data.collection_language AS l
WHERE l.text_search_config IN ('{"', '".join(LANGUAGES)}');
"""
# The trigger of new chunks parses old ones anew; each keeps its id, and so its vectors and edges.
# Korean became pairs of syllables.
PARSE = r"""
CREATE TEMP TABLE parsed_collection (collection_id bigint);
CREATE TRIGGER chunk_15_index_anew BEFORE UPDATE ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_index_text();
ALTER TABLE pgblend_data.chunk DISABLE TRIGGER chunk_20_immutable;
WITH parsed AS (
    UPDATE pgblend_data.chunk AS c
    SET text_search_config = d.text_search_config
    FROM pgblend_data.document AS d
    WHERE d.id = c.document_id AND (
        c.text_search_config <> d.text_search_config
        OR octet_length(c.content) > char_length(c.content) AND c.content ~ '[\uac00-\ud7a3]'
        OR concat(d.title, c.heading) ~ '[\uac00-\ud7a3]')
    RETURNING c.collection_id
)
INSERT INTO pg_temp.parsed_collection SELECT DISTINCT p.collection_id FROM parsed AS p;
ALTER TABLE pgblend_data.chunk ENABLE TRIGGER chunk_20_immutable;
DROP TRIGGER chunk_15_index_anew ON pgblend_data.chunk;
"""
# As if all chunks of those collections were new. A seal that fails is a WARNING, and all are found.
INDEX_PARSED = """
DELETE FROM pgblend_data.pending AS p
USING pg_temp.parsed_collection AS n WHERE p.collection_id = n.collection_id;
DELETE FROM pgblend_data.tombstone AS t
USING pg_temp.parsed_collection AS n WHERE t.collection_id = n.collection_id;
SELECT pgblend._lock_segments(n.collection_id), pgblend._drop_segments(n.collection_id)
FROM pg_temp.parsed_collection AS n;
INSERT INTO pgblend_data.pending (
    chunk_id, document_id, collection_id, bucket, chunk_index, text_search_config, length,
    own_length, records)
SELECT c.id, c.document_id, c.collection_id, c.bucket, c.chunk_index, c.text_search_config,
    c.length, c.own_length, pgblend._pack_lexemes(c.lexemes, c.own_position)
FROM pgblend_data.chunk AS c
INNER JOIN pg_temp.parsed_collection AS n ON n.collection_id = c.collection_id;
SELECT pgblend._rebuild_vocabulary(n.collection_id) FROM pg_temp.parsed_collection AS n;
SELECT pgblend._index_collection(n.collection_id, 'seal', 1)
FROM pg_temp.parsed_collection AS n
WHERE pgblend._has_numpy();
DROP TABLE pg_temp.parsed_collection;
"""


# --- passages are joined to entities that they name
# Passages were joined to entities that they do not name; what the model said is kept.
LINK_ENTITIES = """
DO $do$
DECLARE
    linked record;
BEGIN
    FOR linked IN
        SELECT DISTINCT e.collection_id, e.metadata ->> 'version' AS version
        FROM pgblend_data.edge AS e
        WHERE e.origin = 'model'
    LOOP
        UPDATE pgblend_data.edge AS e
        SET metadata = e.metadata - 'version'
        WHERE e.collection_id = linked.collection_id AND e.origin = 'model';
        PERFORM pgblend._link_entities(linked.collection_id, linked.version);
    END LOOP;
END
$do$;
"""


# --- what belongs to a document belongs to its collection
# A writer of one collection could hang rows of it on documents of another. Keys tie them. What is
# unique names the collection, so that no conflict tells of hidden rows before a key refuses; where
# it cannot, a policy refuses first. Indexes begin with the columns of a key, so that a cascade
# finds its rows before there are statistics.
DOCUMENT_TABLES = ("chunk", "document_name", "document_summary", "key_reference", "link")
KEYS = """
ALTER TABLE pgblend_data.document
ADD CONSTRAINT document_id_collection_id_key UNIQUE (id, collection_id);
DROP INDEX pgblend_data.chunk_document_id_btree;
ALTER TABLE pgblend_data.chunk
ADD CONSTRAINT chunk_document_id_collection_id_id_key UNIQUE (document_id, collection_id, id),
DROP CONSTRAINT chunk_document_id_chunk_index_key,
ADD CONSTRAINT chunk_document_id_chunk_index_key UNIQUE (document_id, chunk_index, collection_id);
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
""" + "".join(
    f"""
ALTER TABLE pgblend_data.{table}
DROP CONSTRAINT {table}_document_id_fkey,
ADD CONSTRAINT {table}_document_fkey FOREIGN KEY (document_id, collection_id)
REFERENCES pgblend_data.document (id, collection_id) ON DELETE CASCADE NOT VALID;
"""
    for table in DOCUMENT_TABLES
)
# A passage's row names its document as well. As pgblend._create_embedding_table makes them.
CHUNK_TABLES = """
DO $do$
DECLARE
    tied name;
BEGIN
    FOR tied IN
        SELECT 'embedding_queue'
        UNION ALL SELECT s.table_name FROM pgblend_data.embedding_space AS s
    LOOP
        EXECUTE format({}
    END LOOP;
END
$do$;
"""
CHUNK_KEYS = CHUNK_TABLES.format("""
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
        END IF;""")
# Each end of an edge is of the collection that it names, and what a link leads to of its own.
# Policies would look up row for row; triggers look once a statement, which is after any conflict.
EDGE_KEY = """
ALTER TABLE pgblend_data.edge
DROP CONSTRAINT edge_pkey,
ADD CONSTRAINT edge_pkey
PRIMARY KEY ({}) INCLUDE ({});
"""
EDGE = "node, is_reverse, neighbour, edge_type, origin, document_id, chunk_id"
EDGE_COLLECTIONS = "collection_id, neighbour_collection_id"
TIE_EDGES = EDGE_KEY.format(f"{EDGE}, {EDGE_COLLECTIONS}", "weight")
UNTIE_EDGES = EDGE_KEY.format(EDGE, f"weight, {EDGE_COLLECTIONS}")
CHECKED = {"edge": "ends", "link": "target"}
CHECK_GRAPH = "".join(
    f"""
CREATE TRIGGER {table}_10_check_{what} AFTER INSERT ON pgblend_data.{table}
REFERENCING NEW TABLE AS new_{table}
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._{table}_check_{what}();
CREATE TRIGGER {table}_10_check_other_{what} AFTER UPDATE ON pgblend_data.{table}
REFERENCING NEW TABLE AS new_{table}
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._{table}_check_{what}();
"""
    for table, what in CHECKED.items()
)
NO_CHECK_GRAPH = "".join(
    f"""
DROP TRIGGER {table}_10_check_{what} ON pgblend_data.{table};
DROP TRIGGER {table}_10_check_other_{what} ON pgblend_data.{table};
"""
    for table, what in CHECKED.items()
)
# A set without a collection is the admins'.
JUDGED = (
    ("judged_query", "set_id", "judged_set"),
    ("judgement", "query_id", "judged_query"),
    ("evaluation_run", "set_id", "judged_set"),
    ("evaluation_result", "run_id", "evaluation_run"),
    ("evaluation_result", "query_id", "judged_query"),
)
JUDGED_POLICIES = "".join(
    f"""
CREATE POLICY {table}_own_{column} ON pgblend_data.{table}
AS RESTRICTIVE USING (true) WITH CHECK (
    collection_id IS NOT DISTINCT FROM (
        SELECT p.collection_id FROM pgblend_data.{parent} AS p WHERE p.id = {table}.{column})
);
"""
    for table, column, parent in JUDGED
)
# Rows that a key does not allow are left as they are, and told; new ones are refused.
VALIDATE_KEYS = """
DO $do$
DECLARE
    tied record;
    broken text;
BEGIN
    FOR tied IN
        SELECT k.conname,
            format('pgblend_data.%I', child.relname) AS child,
            format('pgblend_data.%I', parent.relname) AS parent,
            string_agg('c.' || quote_ident(c.attname), ', ' ORDER BY n.place) AS columns,
            string_agg('p.' || quote_ident(p.attname), ', ' ORDER BY n.place) AS parent_columns
        FROM pg_catalog.pg_constraint AS k
        INNER JOIN pg_catalog.pg_class AS child ON child.oid = k.conrelid
        INNER JOIN pg_catalog.pg_class AS parent ON parent.oid = k.confrelid
        CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS n (own, other, place)
        INNER JOIN pg_catalog.pg_attribute AS c ON c.attrelid = k.conrelid AND c.attnum = n.own
        INNER JOIN pg_catalog.pg_attribute AS p ON p.attrelid = k.confrelid AND p.attnum = n.other
        WHERE k.contype = 'f' AND NOT k.convalidated
            AND k.connamespace = 'pgblend_data'::regnamespace
        GROUP BY k.oid, child.oid, parent.oid
        ORDER BY k.conname
    LOOP
        EXECUTE format(
            'SELECT string_agg(b.found::text, '', '') FROM (
                SELECT (%2$s) AS found FROM %1$s AS c
                WHERE NOT EXISTS (SELECT FROM %3$s AS p WHERE (%4$s) = (%2$s))
                LIMIT 20) AS b',
            tied.child, tied.columns, tied.parent, tied.parent_columns) INTO broken;
        IF broken IS NULL THEN
            EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', tied.child, tied.conname);
        ELSE
            RAISE WARNING 'rows of % belong to no row of %: (%) of %',
                tied.child, tied.parent, tied.columns, broken
                USING HINT = format(
                    'Delete or mend them, then: ALTER TABLE %s VALIDATE CONSTRAINT %I',
                    tied.child, tied.conname);
        END IF;
    END LOOP;
END
$do$;
"""
# The lexical index is written by routines of its owner, for transactions that hold the claim.
INDEX_CLAIM = """
CREATE TABLE pgblend_data.index_claim (
    collection_id bigint NOT NULL,
    transaction_id xid8 NOT NULL,
    CONSTRAINT index_claim_pkey PRIMARY KEY (collection_id),
    CONSTRAINT index_claim_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.index_claim IS
'The transaction that last wrote a collection''s lexical index. Only who may write to the '
'collection may name its own, and what writes the index asks for that.';
CREATE POLICY index_claim_write ON pgblend_data.index_claim USING (
    collection_id IN (
        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
        WHERE g.privilege = 'write'
    )
);
CREATE POLICY index_claim_admin ON pgblend_data.index_claim
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.index_claim ENABLE ROW LEVEL SECURITY;
"""
# Rights come by column now (99_access), so that nobody takes the id of a row to come.
INDEX_TABLES = (
    "pgblend_data.pending, pgblend_data.posting, pgblend_data.segment, pgblend_data.tombstone,"
    " pgblend_data.vocabulary"
)
NUMBERED_TABLES = (
    "pgblend_data.chunk, pgblend_data.document, pgblend_data.embedding_worker, pgblend_data.entity,"
    " pgblend_data.evaluation_run, pgblend_data.judged_query, pgblend_data.judged_set,"
    " pgblend_data.link"
)
REVOKE_WRITES = f"""
REVOKE INSERT, UPDATE, DELETE ON {INDEX_TABLES} FROM pgblend_writer;
REVOKE INSERT ON {NUMBERED_TABLES} FROM pgblend_writer;
"""
TIE = KEYS + CHUNK_KEYS + TIE_EDGES + JUDGED_POLICIES + INDEX_CLAIM + REVOKE_WRITES

# Of the release before.
UNTIE = (
    f"""
REVOKE INSERT ON {NUMBERED_TABLES} FROM pgblend_writer;
REVOKE DELETE ON {INDEX_TABLES} FROM pgblend_admin;
GRANT INSERT, UPDATE, DELETE ON {INDEX_TABLES} TO pgblend_writer;
GRANT INSERT ON {NUMBERED_TABLES} TO pgblend_writer;
DROP TABLE pgblend_data.index_claim;
"""
    + "".join(
        f"DROP POLICY {table}_own_{column} ON pgblend_data.{table};" for table, column, _ in JUDGED
    )
    + CHUNK_TABLES.format("""
            'DROP POLICY IF EXISTS %4$I ON pgblend_data.%1$I;
            ALTER TABLE pgblend_data.%1$I DROP CONSTRAINT %3$I,
            ADD CONSTRAINT %2$I FOREIGN KEY (chunk_id)
            REFERENCES pgblend_data.chunk (id) ON DELETE CASCADE NOT VALID',
            tied, tied || '_chunk_id_fkey', tied || '_chunk_fkey', tied || '_own');""")
    + "".join(
        f"""
ALTER TABLE pgblend_data.{table}
DROP CONSTRAINT {table}_document_fkey,
ADD CONSTRAINT {table}_document_id_fkey FOREIGN KEY (document_id)
REFERENCES pgblend_data.document (id) ON DELETE CASCADE NOT VALID;
"""
        for table in DOCUMENT_TABLES
    )
    + """
DROP INDEX pgblend_data.embedding_queue_chunk_id_btree;
CREATE INDEX embedding_queue_chunk_id_btree
ON pgblend_data.embedding_queue USING btree (chunk_id);
DROP INDEX pgblend_data.link_document_id_btree;
CREATE INDEX link_document_id_btree ON pgblend_data.link USING btree (document_id);
ALTER TABLE pgblend_data.document_name
DROP CONSTRAINT document_name_pkey,
ADD CONSTRAINT document_name_pkey PRIMARY KEY (document_id, name, kind, full_name);
ALTER TABLE pgblend_data.chunk
DROP CONSTRAINT chunk_document_id_collection_id_id_key,
DROP CONSTRAINT chunk_document_id_chunk_index_key,
ADD CONSTRAINT chunk_document_id_chunk_index_key UNIQUE (document_id, chunk_index);
ALTER TABLE pgblend_data.document_summary
DROP CONSTRAINT document_summary_pkey,
ADD CONSTRAINT document_summary_pkey PRIMARY KEY (document_id);
ALTER TABLE pgblend_data.embedding_queue
DROP CONSTRAINT embedding_queue_pkey,
ADD CONSTRAINT embedding_queue_pkey PRIMARY KEY (space, chunk_id);
CREATE INDEX chunk_document_id_btree
ON pgblend_data.chunk USING btree (document_id) INCLUDE (id);
ALTER TABLE pgblend_data.document DROP CONSTRAINT document_id_collection_id_key;
"""
)


# --- attached tables are read with the rights of their owners
READERS = """
CREATE TYPE pgblend_data.attached_row AS (
    key text,
    parts text[],
    title text,
    content text,
    metadata jsonb,
    uri text,
    modified_at timestamptz,
    targets jsonb
);
COMMENT ON TYPE pgblend_data.attached_row IS
'A row of an attached table as a document; of some only key and parts are read.';
COMMENT ON COLUMN pgblend_data.attached_row.key IS 'Source key.';
COMMENT ON COLUMN pgblend_data.attached_row.parts IS 'Texts of the key columns.';
COMMENT ON COLUMN pgblend_data.attached_row.title IS 'Title; empty where there is none.';
COMMENT ON COLUMN pgblend_data.attached_row.content IS 'Texts, a blank line between them.';
COMMENT ON COLUMN pgblend_data.attached_row.metadata IS 'Object of column: value.';
COMMENT ON COLUMN pgblend_data.attached_row.uri IS 'URI.';
COMMENT ON COLUMN pgblend_data.attached_row.modified_at IS 'Date of the source.';
COMMENT ON COLUMN pgblend_data.attached_row.targets IS
'Object of foreign key: source key of what it references.';
"""
# Made by _ensure_reader, one for each attached table.
NO_READERS = """
DO $do$
DECLARE
    reader regprocedure;
BEGIN
    FOR reader IN
        SELECT p.oid FROM pg_catalog.pg_proc AS p
        WHERE p.prorettype = 'pgblend_data.attached_row'::regtype
            AND p.pronamespace = 'pgblend_data'::regnamespace
    LOOP
        EXECUTE format('DROP FUNCTION %s', reader);
    END LOOP;
END
$do$;
DROP TYPE pgblend_data.attached_row;
"""


# --- locks that no other role can take
# Advisory locks are anybody's. A claim on the lexical index is its row's lock; so is that on the
# vocabulary, which routines of the owner take alone. A worker's row has the key of its life, made
# with the row, and the process that it counts for. Places for model calls are files.
LOCKS = """
CREATE POLICY index_claim_read ON pgblend_data.index_claim FOR SELECT USING (
    collection_id IN (SELECT c.id FROM pgblend_data.collection AS c)
);
INSERT INTO pgblend_data.index_claim (collection_id, transaction_id)
SELECT c.id, '0' FROM pgblend_data.collection AS c;
CREATE TABLE pgblend_data.vocabulary_lock (
    collection_id bigint NOT NULL,
    CONSTRAINT vocabulary_lock_pkey PRIMARY KEY (collection_id),
    CONSTRAINT vocabulary_lock_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.vocabulary_lock IS
'Rows to lock: shared by who adds words to a collection''s vocabulary, alone by who makes it anew. '
'Only routines of the owner do.';
ALTER TABLE pgblend_data.vocabulary_lock ENABLE ROW LEVEL SECURITY;
INSERT INTO pgblend_data.vocabulary_lock (collection_id)
SELECT c.id FROM pgblend_data.collection AS c;
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
UPDATE pgblend_data.setting SET value = value - 'first_key'
WHERE name = 'model_calls' AND value ? 'first_key';
"""
ADD_LOCKS = """
CREATE TRIGGER collection_30_add_locks AFTER INSERT ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._collection_add_locks();
"""
NO_ADDED_LOCKS = "DROP TRIGGER collection_30_add_locks ON pgblend_data.collection;"
ADVISORY_LOCKS = """
ALTER TABLE pgblend_data.document_summary DROP COLUMN worker;
ALTER TABLE pgblend_data.embedding_worker
DROP COLUMN backend, DROP COLUMN life_lock, DROP COLUMN waits;
COMMENT ON TABLE pgblend_data.embedding_worker IS
'Sessions that make vectors. One lives as long as it holds its advisory lock; what a dead one had '
'claimed is free.';
DROP TABLE pgblend_data.vocabulary_lock;
"""


# --- who did it is the role in force
DONE_BY = (
    ("setting", "changed_by"),
    ("setting_history", "changed_by"),
    ("collection_grant", "granted_by"),
    ("profile", "changed_by"),
    ("judged_set", "created_by"),
    ("judgement", "judged_by"),
    ("evaluation_run", "started_by"),
    ("attached_table", "attached_by"),
)
# What _asking_role says, spelt out: no table may depend on a routine that is made anew.
ROLE_IN_FORCE = "coalesce(nullif(current_setting('role'), 'none')::name, session_user)"
NAME_ROLES, NAME_SESSIONS = (
    "".join(
        f"ALTER TABLE pgblend_data.{table} ALTER COLUMN {column} SET DEFAULT {who};"
        for table, column in DONE_BY
    )
    for who in (ROLE_IN_FORCE, "session_user")
)
# Who and when are for the table to say (99_access).
NAME_ROLES += "REVOKE INSERT ON pgblend_data.setting_history FROM pgblend_admin;"
NAME_SESSIONS += """
REVOKE INSERT ON pgblend_data.setting_history FROM pgblend_admin;
GRANT INSERT ON pgblend_data.setting_history TO pgblend_admin;
"""


# --- rows that no collection owns
# Workers are their role's own; what may be sent is counted by routines of its owner alone.
OWN_WORKERS = """
ALTER TABLE pgblend_data.embedding_worker ALTER COLUMN started_by SET DEFAULT CURRENT_USER;
CREATE POLICY embedding_worker_read ON pgblend_data.embedding_worker FOR SELECT USING (true);
CREATE POLICY embedding_worker_own ON pgblend_data.embedding_worker
USING (started_by = CURRENT_USER);
CREATE POLICY embedding_worker_admin ON pgblend_data.embedding_worker
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.embedding_worker ENABLE ROW LEVEL SECURITY;
REVOKE INSERT, UPDATE, DELETE ON pgblend_data.embedding_allowance FROM pgblend_writer;
"""
NO_OWN_WORKERS = """
ALTER TABLE pgblend_data.embedding_worker DISABLE ROW LEVEL SECURITY;
DROP POLICY embedding_worker_read ON pgblend_data.embedding_worker;
DROP POLICY embedding_worker_own ON pgblend_data.embedding_worker;
DROP POLICY embedding_worker_admin ON pgblend_data.embedding_worker;
ALTER TABLE pgblend_data.embedding_worker ALTER COLUMN started_by SET DEFAULT SESSION_USER;
GRANT INSERT, UPDATE, DELETE ON pgblend_data.embedding_allowance TO pgblend_writer;
"""


# --- a text search configuration that does not exist is refused
CHECKED_LANGUAGES = ("collection", "collection_language", "document")
CHECK_LANGUAGES = "".join(
    f"""
CREATE TRIGGER {table}_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.{table}
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();
"""
    for table in CHECKED_LANGUAGES
)
CHECK_NO_LANGUAGES = "".join(
    f"DROP TRIGGER {table}_05_check_language ON pgblend_data.{table};"
    for table in CHECKED_LANGUAGES
)


# --- tokens of the HTTP door
# Its login is a member of pgblend_serve and of the roles of its tokens, and inherits from none.
SERVE_ROLE = """
DO $do$
BEGIN
    LOCK TABLE pg_catalog.pg_authid IN SHARE ROW EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'pgblend_serve') THEN
        CREATE ROLE pgblend_serve NOLOGIN;
    END IF;
END
$do$;
GRANT USAGE ON SCHEMA pgblend_data TO pgblend_serve;
"""
ACCESS_TOKENS = f"""
CREATE TABLE pgblend_data.access_token (
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    digest bytea NOT NULL,
    role_name name NOT NULL,
    scopes text[] NOT NULL,
    expires_at timestamptz NOT NULL,
    created_by name NOT NULL DEFAULT {ROLE_IN_FORCE},
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT access_token_pkey PRIMARY KEY (id),
    CONSTRAINT access_token_digest_key UNIQUE (digest),
    CONSTRAINT access_token_name_check CHECK (char_length(name) BETWEEN 1 AND 200),
    CONSTRAINT access_token_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT access_token_scopes_check CHECK (
        cardinality(scopes) > 0
        AND scopes <@ ARRAY['search', 'ask', 'feedback', 'metrics'])
);
COMMENT ON TABLE pgblend_data.access_token IS
'Who may call `pgblend serve`, as which role. No token is here, but what tells it.';
COMMENT ON COLUMN pgblend_data.access_token.id IS 'What `pgblend serve token revoke` takes.';
COMMENT ON COLUMN pgblend_data.access_token.name IS 'What it is for, as its maker says.';
COMMENT ON COLUMN pgblend_data.access_token.digest IS 'sha256 of the token, which is random.';
COMMENT ON COLUMN pgblend_data.access_token.role_name IS 'Role that its calls are made as.';
COMMENT ON COLUMN pgblend_data.access_token.scopes IS
'What it is good for: search, ask (the answer model), feedback, metrics.';
COMMENT ON COLUMN pgblend_data.access_token.expires_at IS 'When it ends by itself.';
COMMENT ON COLUMN pgblend_data.access_token.created_by IS 'Role that made it.';
COMMENT ON COLUMN pgblend_data.access_token.created_at IS 'When it was made.';
CREATE POLICY access_token_serve ON pgblend_data.access_token FOR SELECT
USING ((SELECT pg_has_role('pgblend_serve', 'USAGE')));
-- Nobody makes a token for a role that is not theirs to take.
CREATE POLICY access_token_admin ON pgblend_data.access_token
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')))
WITH CHECK (
    (SELECT pg_has_role('pgblend_admin', 'USAGE')) AND pg_has_role(role_name, 'MEMBER')
);
ALTER TABLE pgblend_data.access_token ENABLE ROW LEVEL SECURITY;
"""
# Roles belong to the whole server: another database may still use it, and then it stays.
NO_ACCESS_TOKENS = """
DROP TABLE pgblend_data.access_token;
DROP OWNED BY pgblend_serve;
DO $do$
BEGIN
    DROP ROLE pgblend_serve;
EXCEPTION WHEN dependent_objects_still_exist THEN
    RAISE NOTICE 'the role pgblend_serve stays: %', SQLERRM;
END
$do$;
"""


def upgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, NAME_ROLES)
    execute_script(connection, PURPOSE + TUNED + SCORE + CREATE_LANGUAGES + READERS)
    execute_script(connection, LITERAL_WORDS)
    execute_script(connection, NO_FEEDBACK + CODE)
    execute_script(connection, TIE + LOCKS + OWN_WORKERS)
    execute_script(connection, SERVE_ROLE + ACCESS_TOKENS)
    public_schema.create(connection, snapshot(down_revision))
    search_path.replace(connection, public_schema.PRIVATE, public_schema.PUBLIC)
    replace_routines(connection, snapshot(revision), snapshot(down_revision))
    execute_script(connection, ADD_LOCKS)
    execute_script(connection, ADD_NAMES + INDEX_NAMES)
    execute_script(connection, TELL_LANGUAGES)
    execute_script(connection, PARSE + INDEX_PARSED)
    execute_script(connection, LINK_ENTITIES)
    execute_script(connection, CHECK_GRAPH + VALIDATE_KEYS + CHECK_LANGUAGES)


def downgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, NAME_SESSIONS + NO_ACCESS_TOKENS)
    execute_script(connection, CHECK_NO_LANGUAGES + NO_OWN_WORKERS + WORDS_BEFORE)
    execute_script(connection, FEEDBACK_BEFORE + NO_CODE + FORGET_SETTINGS)
    search_path.replace(connection, public_schema.PUBLIC, public_schema.PRIVATE)
    public_schema.drop(connection, snapshot(revision))
    execute_script(connection, NO_TUNED_COLUMNS + NO_CHECK_GRAPH + NO_ADDED_LOCKS)
    replace_routines(connection, snapshot(down_revision), snapshot(revision))
    execute_script(connection, ADVISORY_LOCKS + UNTIE_EDGES + UNTIE + VALIDATE_KEYS)
    execute_script(connection, NO_PURPOSE + NOT_TUNED + SCORE_BEFORE + NO_READERS)
    execute_script(connection, FORGET_LANGUAGES)
    execute_script(connection, PARSE + INDEX_PARSED)
    execute_script(connection, REMOVE_NAMES + INDEX_NAMES)
    execute_script(connection, DROP_LANGUAGES)
