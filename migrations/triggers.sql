-- Triggers on tables of pgblend, by table in the order in which they fire. Routines come first.

CREATE OR REPLACE TRIGGER document_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.document
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();
CREATE OR REPLACE TRIGGER document_10_record_language AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_language();
CREATE OR REPLACE TRIGGER document_10_record_other_language AFTER UPDATE ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_language();
CREATE OR REPLACE TRIGGER document_20_record_names AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_names();
CREATE OR REPLACE TRIGGER document_20_record_other_names AFTER UPDATE ON pgblend_data.document
REFERENCING OLD TABLE AS old_document NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_names();
CREATE OR REPLACE TRIGGER document_30_drop_edges AFTER DELETE ON pgblend_data.document
REFERENCING OLD TABLE AS old_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_drop_edges();
CREATE OR REPLACE TRIGGER document_40_clear_edges AFTER TRUNCATE ON pgblend_data.document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_clear_edges();
CREATE OR REPLACE TRIGGER document_50_want_summary AFTER INSERT OR UPDATE ON pgblend_data.document
FOR EACH ROW EXECUTE FUNCTION pgblend._document_want_summary();

CREATE OR REPLACE TRIGGER chunk_10_index_text BEFORE INSERT ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_index_text();
CREATE OR REPLACE TRIGGER chunk_20_immutable BEFORE UPDATE ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_immutable();
CREATE OR REPLACE TRIGGER chunk_30_enqueue AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_enqueue();
CREATE OR REPLACE TRIGGER chunk_40_index_pending AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_add_pending();
CREATE OR REPLACE TRIGGER chunk_45_add_words AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_add_words();
CREATE OR REPLACE TRIGGER chunk_50_bury AFTER DELETE ON pgblend_data.chunk
REFERENCING OLD TABLE AS old_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_bury();
CREATE OR REPLACE TRIGGER chunk_60_clear_index AFTER TRUNCATE ON pgblend_data.chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_clear_index();
-- At commit, so that no lock of a seal is held while its transaction goes on; every 256th chunk, so
-- that looking costs nothing.
DROP TRIGGER IF EXISTS chunk_70_seal_added ON pgblend_data.chunk;
CREATE CONSTRAINT TRIGGER chunk_70_seal_added AFTER INSERT ON pgblend_data.chunk
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (new.id % 256 = 0) EXECUTE FUNCTION pgblend._chunk_seal();
DROP TRIGGER IF EXISTS chunk_70_seal_deleted ON pgblend_data.chunk;
CREATE CONSTRAINT TRIGGER chunk_70_seal_deleted AFTER DELETE ON pgblend_data.chunk
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (old.id % 256 = 0) EXECUTE FUNCTION pgblend._chunk_seal();
CREATE OR REPLACE TRIGGER chunk_80_drop_edges AFTER DELETE ON pgblend_data.chunk
REFERENCING OLD TABLE AS old_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_drop_edges();

CREATE OR REPLACE TRIGGER link_10_check_other_target AFTER UPDATE ON pgblend_data.link
REFERENCING NEW TABLE AS new_link
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._link_check_target();
CREATE OR REPLACE TRIGGER link_10_check_target AFTER INSERT ON pgblend_data.link
REFERENCING NEW TABLE AS new_link
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._link_check_target();

CREATE OR REPLACE TRIGGER edge_10_check_ends AFTER INSERT ON pgblend_data.edge
REFERENCING NEW TABLE AS new_edge
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._edge_check_ends();
CREATE OR REPLACE TRIGGER edge_10_check_other_ends AFTER UPDATE ON pgblend_data.edge
REFERENCING NEW TABLE AS new_edge
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._edge_check_ends();

CREATE OR REPLACE TRIGGER collection_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();
CREATE OR REPLACE TRIGGER collection_10_record_history
AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._owner_record_history();
CREATE OR REPLACE TRIGGER collection_20_follow_settings
AFTER UPDATE OF settings ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._collection_follow_settings();
CREATE OR REPLACE TRIGGER collection_30_add_locks AFTER INSERT ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._collection_add_locks();

CREATE OR REPLACE TRIGGER collection_language_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.collection_language
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();

CREATE OR REPLACE TRIGGER setting_10_record_history
AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.setting
FOR EACH ROW EXECUTE FUNCTION pgblend._setting_record_history();
CREATE OR REPLACE TRIGGER setting_20_follow AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.setting
FOR EACH ROW EXECUTE FUNCTION pgblend._setting_follow();

CREATE OR REPLACE TRIGGER profile_10_record_history
AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.profile
FOR EACH ROW EXECUTE FUNCTION pgblend._owner_record_history();
