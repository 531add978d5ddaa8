-- _check_space: raise unless an embedding space can be made like this.
-- What an HNSW index takes is the limit: 2000 dimensions of vector and 4000 of halfvec; binary
-- spaces store halfvec, which takes 16000, and so does auto. NULL dimensions are right where the
-- model is asked.
CREATE OR REPLACE FUNCTION pgblend._check_space(
    name text,
    model text,
    dimensions integer,
    storage text
)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    most integer := (
        SELECT max(s.most_dimensions) FROM pgblend._storages(0, 1) AS s
        WHERE _check_space.storage IN (s.storage, 'auto'));
BEGIN
    IF name IS NULL OR name !~ '^[a-z][a-z0-9_]{0,31}$'
        OR name IN ('allowance', 'queue', 'space', 'worker')
    THEN
        RAISE EXCEPTION 'space name is %: expected lower-case letters, digits and _, at most 32',
            coalesce(quote_literal(left(name, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: minilm (allowance, queue, space and worker are taken)';
    ELSIF coalesce(btrim(model), '') = '' THEN
        RAISE EXCEPTION 'model is empty: expected a model name that the gateway knows'
            USING ERRCODE = '22023', HINT = 'For example: local/all-minilm-l6-v2';
    ELSIF most IS NULL THEN
        RAISE EXCEPTION 'storage is %: expected auto, vector, halfvec or binary',
            coalesce(quote_literal(left(storage, 200)), 'NULL')
            USING ERRCODE = '22023',
            HINT = 'halfvec takes half the space; binary has a small index beside it.';
    ELSIF dimensions IS NOT NULL AND dimensions NOT BETWEEN 1 AND most THEN
        RAISE EXCEPTION 'dimensions is %: expected 1 to % for storage %',
            dimensions, most, storage
            USING ERRCODE = '22023', HINT = 'halfvec takes up to 4000, binary up to 16000.';
    ELSIF EXISTS (SELECT FROM pgblend_data.embedding_space AS s WHERE s.name = _check_space.name)
    THEN
        RAISE EXCEPTION 'there is an embedding space "%" already', name
            USING ERRCODE = '42710', HINT = 'SELECT * FROM blend.embedding_spaces';
    END IF;
END;
$function$;
