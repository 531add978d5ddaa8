-- _most_chunks: how many chunks the database has that has the most of them: this one.
CREATE OR REPLACE FUNCTION pgblend._most_chunks()
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN (SELECT count(*) FROM pgblend_data.chunk);
