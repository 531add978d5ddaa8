-- What the next version finds in chunks that 0.0.1 stored. Each keeps its id, and so its vectors
-- and edges.

-- A tsvector's binary form (UTF-8) as a pending chunk has it (plpy/lexical/records.py).
CREATE FUNCTION pg_temp.pack_vector(
    vector bytea,
    own_position integer,
    OUT records bytea,
    OUT length integer,
    OUT own_length integer
)
LANGUAGE plpython3u
IMMUTABLE
AS $python$
if "pgblend_program" not in GD:
    plpy.execute("SELECT pgblend._load_program()")
from pgblend.plpy.lexical.records import pack_lexemes, read_lexemes

return tuple(pack_lexemes(read_lexemes(vector), own_position, {}))
$python$;

-- The lengths of a chunk are the index's alone.
ALTER TABLE pgblend_data.chunk DROP COLUMN length, DROP COLUMN own_length;

-- Documents are found by their names: a document's first chunk has them.
ALTER TABLE pgblend_data.chunk DISABLE TRIGGER chunk_20_immutable;
UPDATE pgblend_data.chunk AS c
SET lexemes = c.lexemes || pgblend._name_lexemes(
    pgblend._regconfig(c.text_search_config), d.source_key, ts_filter(c.lexemes, '{a}'))
FROM pgblend_data.document AS d
WHERE d.id = c.document_id AND c.chunk_index = 0;
-- The lexical index is derived from the lexemes. Without numpy there is none.
ALTER TABLE pgblend_data.chunk ENABLE TRIGGER chunk_20_immutable;
UPDATE pgblend_data.pending AS p
SET records = (pg_temp.pack_vector(tsvectorsend(c.lexemes), c.own_position)).records
FROM pgblend_data.chunk AS c
WHERE c.id = p.chunk_id AND c.chunk_index = 0;
SELECT pgblend._index_collection(c.id, 'rebuild', 1)
FROM pgblend_data.collection AS c WHERE pgblend._has_numpy();

-- Languages are told by their script: only those whose language was detected (simple) or not named
-- (the collection's).
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

-- The trigger of new chunks parses old ones anew. Korean became pairs of syllables.
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

-- As if all chunks of those collections were new. A seal that fails is a WARNING; all are found.
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
    p.length, p.own_length, p.records
FROM pgblend_data.chunk AS c
INNER JOIN pg_temp.parsed_collection AS n ON n.collection_id = c.collection_id
CROSS JOIN LATERAL pg_temp.pack_vector(tsvectorsend(c.lexemes), c.own_position) AS p;
SELECT pgblend._rebuild_vocabulary(n.collection_id) FROM pg_temp.parsed_collection AS n;
SELECT pgblend._index_collection(n.collection_id, 'seal', 1)
FROM pg_temp.parsed_collection AS n
WHERE pgblend._has_numpy();
DROP TABLE pg_temp.parsed_collection;
DROP FUNCTION pg_temp.pack_vector;
