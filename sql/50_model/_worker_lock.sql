-- _worker_lock: first key of the workers' advisory locks.
-- The second is the worker's id, held while it lives; or 0, held shared while it waits for work.
CREATE OR REPLACE FUNCTION pgblend._worker_lock()
RETURNS integer
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN 1885823596;  -- "pgbl"

COMMENT ON FUNCTION pgblend._worker_lock() IS
'First key of the workers'' advisory locks; the second is a worker''s id, or 0 while one waits for '
'work.';
