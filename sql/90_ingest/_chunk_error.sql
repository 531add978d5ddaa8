-- _chunk_error: what is wrong with a chunk given to ingest_document, NULL where nothing is.
-- Keys that are not there and JSON nulls take defaults; other keys are left alone.
CREATE OR REPLACE FUNCTION pgblend._chunk_error(chunk jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN jsonb_typeof(chunk) <> 'object' THEN 'expected an object'
    WHEN jsonb_typeof(chunk -> 'content') IS DISTINCT FROM 'string'
        THEN '"content": expected a string'
    WHEN coalesce(chunk ->> 'kind', 'doc') NOT IN ('code', 'doc', 'signature', 'metadata')
        THEN '"kind": expected code, doc, signature or metadata'
    WHEN coalesce(jsonb_typeof(chunk -> 'metadata'), 'null') NOT IN ('object', 'null')
        THEN '"metadata": expected an object'
    WHEN coalesce(jsonb_typeof(chunk -> 'own_start'), 'null') NOT IN ('number', 'null')
        OR coalesce((chunk -> 'own_start')::numeric, 0) < 0
        OR coalesce((chunk -> 'own_start')::numeric, 0) > length(chunk ->> 'content')
        THEN '"own_start": expected a place in content, from 0'
    WHEN coalesce(jsonb_typeof(chunk -> 'piece_tokens'), 'null') NOT IN ('array', 'null')
        OR jsonb_path_exists(
            chunk, '$.piece_tokens[*] ? (@.type() != "number"
                || !(@ >= 0 && @ <= 32767 && @.floor() == @))')
        THEN '"piece_tokens": expected an array of whole numbers from 0 to 32767'
END;
