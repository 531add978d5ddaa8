-- _writable_collection: the collection of that name; an error where the caller may not write to it.
CREATE OR REPLACE FUNCTION pgblend._writable_collection(collection text)
RETURNS pgblend_data.collection
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._named_collection(collection);
BEGIN
    IF NOT pgblend._may_write(target.id) THEN
        RAISE EXCEPTION '% may not write to collection "%"', current_user, target.name
            USING ERRCODE = '42501',
            HINT = 'An admin grants it: grant_collection(collection, role, ''write'')';
    END IF;
    RETURN target;
END;
$function$;

-- _document_id: the document that some collections have under a key; NULL where there is none that
-- the caller may read.
-- NULL collections are all. A key is found however it is typed, composed or not (Unicode's forms
-- NFC and NFD). Of several documents it is the one that has it as typed.
CREATE OR REPLACE FUNCTION pgblend._document_id(collection_ids bigint[], source_key text)
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN (
    SELECT d.id FROM pgblend_data.document AS d
    WHERE (collection_ids IS NULL OR d.collection_id = ANY(collection_ids))
        AND d.source_key IN (
            _document_id.source_key,
            normalize(_document_id.source_key),
            normalize(_document_id.source_key, nfd))
    ORDER BY d.source_key = _document_id.source_key DESC, d.id ASC LIMIT 1
);

-- _named_collection: the collection of that name; an error where the caller sees none.
-- Names are kept composed (Unicode's form NFC), and found however they are typed.
CREATE OR REPLACE FUNCTION pgblend._named_collection(collection text)
RETURNS pgblend_data.collection
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found_collection pgblend_data.collection;
BEGIN
    SELECT c.* INTO found_collection FROM pgblend_data.collection AS c
    WHERE c.name = normalize(collection) AND c.parent_id IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no collection % that % may read',
            coalesce('"' || left(collection, 200) || '"', 'NULL'), current_user
            USING ERRCODE = '42704',
            HINT = 'SELECT name FROM blend.collections; an admin makes one: add_collection(…)';
    END IF;
    RETURN found_collection;
END;
$function$;

-- _may_write: whether the caller may write to a collection, as its row security has it.
CREATE OR REPLACE FUNCTION pgblend._may_write(collection_id bigint)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        pg_has_role('pgblend_admin', 'USAGE')
        OR EXISTS (
            SELECT FROM pgblend_data.collection_grant AS g
            WHERE g.collection_id = _may_write.collection_id AND g.privilege = 'write'
        );
END;

-- _compartments: a collection and its compartments that the caller may read, itself first.
CREATE OR REPLACE FUNCTION pgblend._compartments(collection_id bigint)
RETURNS bigint[]
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT c.id FROM pgblend_data.collection AS c
    WHERE c.id = _compartments.collection_id OR c.parent_id = _compartments.collection_id
    ORDER BY c.parent_id NULLS FIRST, c.id
);

-- _bucket: the part (0 to 4095) of the store that a document belongs to, from its collection and
-- key alone.
-- A collection that has buckets of its own has its documents in these only, spread by
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
