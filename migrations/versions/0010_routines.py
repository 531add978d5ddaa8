"""All routines, and the triggers that call them."""

from alembic import op

from pgblend.migrations.replace_routines import execute_script, replace_routines, snapshot

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# New chunks get their records from a trigger; those of earlier revisions get them here.
BACKFILL = """
INSERT INTO pgblend_data.pending (
    chunk_id, document_id, collection_id, bucket, chunk_index, text_search_config, length,
    own_length, records)
SELECT c.id, c.document_id, c.collection_id, c.bucket, c.chunk_index, c.text_search_config,
    c.length, c.own_length, pgblend._pack_lexemes(c.lexemes, c.own_position)
FROM pgblend_data.chunk AS c;
INSERT INTO pgblend_data.vocabulary (collection_id, text_search_config, lexeme)
SELECT DISTINCT c.collection_id, c.text_search_config, l.lexeme
FROM pgblend_data.chunk AS c
CROSS JOIN LATERAL unnest(c.lexemes) AS l;
INSERT INTO pgblend_data.document_name (collection_id, document_id, bucket, name, kind, full_name)
SELECT d.collection_id, d.id, d.bucket, n.name, n.kind, n.full_name
FROM pgblend_data.document AS d
CROSS JOIN LATERAL pgblend._document_names(d.source_key, d.title, d.uri, d.metadata) AS n;
"""

TRIGGERS = """
CREATE TRIGGER chunk_10_index_text BEFORE INSERT ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_index_text();
CREATE TRIGGER chunk_20_immutable BEFORE UPDATE ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_immutable();
CREATE TRIGGER chunk_30_enqueue AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_enqueue();
CREATE TRIGGER collection_20_follow_settings AFTER UPDATE OF settings ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._collection_follow_settings();
CREATE TRIGGER setting_20_follow AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.setting
FOR EACH ROW EXECUTE FUNCTION pgblend._setting_follow();
CREATE TRIGGER document_50_want_summary AFTER INSERT OR UPDATE ON pgblend_data.document
FOR EACH ROW EXECUTE FUNCTION pgblend._document_want_summary();
CREATE TRIGGER document_10_record_language AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_language();
CREATE TRIGGER document_10_record_other_language AFTER UPDATE ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_language();
CREATE TRIGGER setting_10_record_history AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.setting
FOR EACH ROW EXECUTE FUNCTION pgblend._setting_record_history();
CREATE TRIGGER profile_10_record_history AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.profile
FOR EACH ROW EXECUTE FUNCTION pgblend._owner_record_history();
CREATE TRIGGER collection_10_record_history
AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._owner_record_history();
CREATE TRIGGER chunk_40_index_pending AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_add_pending();
CREATE TRIGGER chunk_45_add_words AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_add_words();
CREATE TRIGGER chunk_50_bury AFTER DELETE ON pgblend_data.chunk
REFERENCING OLD TABLE AS old_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_bury();
CREATE TRIGGER chunk_60_clear_index AFTER TRUNCATE ON pgblend_data.chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_clear_index();
-- At commit, so that no lock of a seal is held while its transaction goes on; every 256th chunk, so
-- that looking costs nothing.
CREATE CONSTRAINT TRIGGER chunk_70_seal_added AFTER INSERT ON pgblend_data.chunk
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (new.id % 256 = 0) EXECUTE FUNCTION pgblend._chunk_seal();
CREATE CONSTRAINT TRIGGER chunk_70_seal_deleted AFTER DELETE ON pgblend_data.chunk
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (old.id % 256 = 0) EXECUTE FUNCTION pgblend._chunk_seal();
CREATE TRIGGER chunk_80_drop_edges AFTER DELETE ON pgblend_data.chunk
REFERENCING OLD TABLE AS old_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_drop_edges();
CREATE TRIGGER document_20_record_names AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_names();
CREATE TRIGGER document_20_record_other_names AFTER UPDATE ON pgblend_data.document
REFERENCING OLD TABLE AS old_document NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_names();
CREATE TRIGGER document_30_drop_edges AFTER DELETE ON pgblend_data.document
REFERENCING OLD TABLE AS old_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_drop_edges();
CREATE TRIGGER document_40_clear_edges AFTER TRUNCATE ON pgblend_data.document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_clear_edges();
"""

DROP_TRIGGERS = """
DROP TRIGGER document_40_clear_edges ON pgblend_data.document;
DROP TRIGGER document_30_drop_edges ON pgblend_data.document;
DROP TRIGGER document_20_record_other_names ON pgblend_data.document;
DROP TRIGGER document_20_record_names ON pgblend_data.document;
DROP TRIGGER chunk_80_drop_edges ON pgblend_data.chunk;
DROP TRIGGER chunk_70_seal_deleted ON pgblend_data.chunk;
DROP TRIGGER chunk_70_seal_added ON pgblend_data.chunk;
DROP TRIGGER chunk_60_clear_index ON pgblend_data.chunk;
DROP TRIGGER chunk_50_bury ON pgblend_data.chunk;
DROP TRIGGER chunk_45_add_words ON pgblend_data.chunk;
DROP TRIGGER chunk_40_index_pending ON pgblend_data.chunk;
DROP TRIGGER collection_10_record_history ON pgblend_data.collection;
DROP TRIGGER profile_10_record_history ON pgblend_data.profile;
DROP TRIGGER setting_10_record_history ON pgblend_data.setting;
DROP TRIGGER document_50_want_summary ON pgblend_data.document;
DROP TRIGGER setting_20_follow ON pgblend_data.setting;
DROP TRIGGER collection_20_follow_settings ON pgblend_data.collection;
DROP TRIGGER document_10_record_other_language ON pgblend_data.document;
DROP TRIGGER document_10_record_language ON pgblend_data.document;
DROP TRIGGER chunk_30_enqueue ON pgblend_data.chunk;
DROP TRIGGER chunk_20_immutable ON pgblend_data.chunk;
DROP TRIGGER chunk_10_index_text ON pgblend_data.chunk;
"""

# Those on users' tables: what they call is about to go. doctor says that they are missing.
DROP_TABLE_TRIGGERS = """
DO $do$
DECLARE
    old record;
BEGIN
    FOR old IN
        SELECT t.tgname, t.tgrelid::pg_catalog.regclass AS relation
        FROM pg_catalog.pg_trigger AS t
        WHERE t.tgparentid = 0 AND t.tgfoid IN (
            'pgblend._table_changed()'::pg_catalog.regprocedure,
            'pgblend._table_truncated()'::pg_catalog.regprocedure)
    LOOP
        EXECUTE pg_catalog.format('DROP TRIGGER %I ON %s', old.tgname, old.relation);
    END LOOP;
END
$do$;
"""

# The lexical index and the names are derived; coming up again fills them anew.
EMPTY_INDEX = """
TRUNCATE
pgblend_data.lexical_failure, pgblend_data.vocabulary, pgblend_data.tombstone,
pgblend_data.posting, pgblend_data.segment, pgblend_data.pending, pgblend_data.document_name;
"""

# What the routines' last stage granted on the tables that stay.
REVOKE = """
REVOKE ALL ON ALL TABLES IN SCHEMA pgblend_data
FROM pgblend_reader, pgblend_writer, pgblend_admin, pgblend_gateway;
"""


def upgrade() -> None:
    connection = op.get_bind()
    replace_routines(connection, snapshot(revision), None)
    execute_script(connection, TRIGGERS)
    execute_script(connection, BACKFILL)


def downgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, DROP_TRIGGERS)
    execute_script(connection, DROP_TABLE_TRIGGERS)
    replace_routines(connection, None, snapshot(revision))
    execute_script(connection, EMPTY_INDEX)
    execute_script(connection, REVOKE)
