-- PostgreSQL replaces no constraint trigger; all others stand beside their functions in sql/. At
-- commit, so that no lock of a seal is held while its transaction goes on; every 256th chunk, so
-- that looking costs nothing.

CREATE CONSTRAINT TRIGGER chunk_70_seal_added AFTER INSERT ON pgblend_data.chunk
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (new.id % 256 = 0) EXECUTE FUNCTION pgblend._chunk_seal();
CREATE CONSTRAINT TRIGGER chunk_70_seal_deleted AFTER DELETE ON pgblend_data.chunk
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (old.id % 256 = 0) EXECUTE FUNCTION pgblend._chunk_seal();
