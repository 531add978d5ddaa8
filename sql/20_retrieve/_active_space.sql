-- _active_space: the embedding space that searches use; a NULL row where there is none.
CREATE OR REPLACE FUNCTION pgblend._active_space()
RETURNS pgblend_data.embedding_space
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.*  -- noqa: AM04
    FROM pgblend_data.embedding_space AS s
    WHERE s.active;
END;

COMMENT ON FUNCTION pgblend._active_space() IS
'The embedding space that searches use; a NULL row where there is none.';
