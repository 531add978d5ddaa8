-- _bucket: the part (0 to 4095) of the store that a document belongs to, from its collection and
-- key alone.
-- A collection that is placed on some shards has its documents in its own buckets only, spread by
-- the same hash. One that the caller may not read is an error.
CREATE OR REPLACE FUNCTION pgblend._bucket(collection_id bigint, source_key text)
RETURNS smallint
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    digest text := md5(collection_id::text || ':' || source_key);
    hash integer := ('x' || left(digest, 3))::bit(12)::integer;
    own int4multirange;
    part int4range;
    place integer;  -- among those of its own
BEGIN
    SELECT c.buckets INTO own FROM pgblend_data.collection AS c WHERE c.id = collection_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no collection number % that % may read',
            coalesce(collection_id::text, 'NULL'), current_user
            USING ERRCODE = '42704', HINT = 'SELECT id, name FROM blend.collections';
    ELSIF own IS NULL THEN
        RETURN hash;
    END IF;
    place := hash * (SELECT sum(upper(p) - lower(p)) FROM unnest(own) AS p) / 4096;
    FOR part IN SELECT p FROM unnest(own) AS p ORDER BY p LOOP
        EXIT WHEN place < upper(part) - lower(part);
        place := place - (upper(part) - lower(part));
    END LOOP;
    RETURN lower(part) + place;
END;
$function$;
