-- _buckets_of_shards: the buckets that some shards of this coordinator have now.
-- A name that no shard has, none at all, and a database without shards are errors.
CREATE OR REPLACE FUNCTION pgblend._buckets_of_shards(names text[])
RETURNS int4multirange
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    found record;
    unknown text;
BEGIN
    SELECT
        range_agg(int4range(b.bucket, b.bucket + 1)) FILTER (WHERE s.name = ANY(names)) AS buckets,
        array_agg(DISTINCT s.name) AS known
    INTO found
    FROM pgblend_data.shard AS s
    INNER JOIN pgblend_data.shard_bucket AS b ON b.shard = s.number;
    IF found.known IS NULL THEN
        RAISE EXCEPTION 'this database has no shards to place a collection on'
            USING ERRCODE = '55000', HINT = 'pgblend shards add NAME=URL … makes it their coordinator.';
    END IF;
    SELECT coalesce(n, 'NULL') INTO unknown
    FROM unnest(names) AS n
    WHERE n = ANY(found.known) IS NOT TRUE;
    IF unknown IS NOT NULL OR found.buckets IS NULL THEN
        RAISE EXCEPTION 'shards is %: expected names of shards', names
            USING ERRCODE = '22023', HINT = 'There are: ' || array_to_string(found.known, ', ');
    END IF;
    RETURN found.buckets;
END;
$function$;

-- add_collection: make a collection and return its id.
-- Only admins see it until it is granted (grant_collection). A name in use, an unknown text search
-- configuration and wrong settings are errors. Settings are those of scope collection and search in
-- blend.setting_catalog(). On a coordinator, `shards` are the names of those that have its
-- documents, for good (docs/shards.md); NULL: all.
CREATE OR REPLACE FUNCTION blend.add_collection(
    name text,
    text_search_config text DEFAULT 'english',
    settings jsonb DEFAULT '{}',
    shards text[] DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    new_id bigint;
BEGIN
    IF coalesce(name, '') = '' OR btrim(name, E' \t\r\n') <> name OR length(name) > 200 THEN
        RAISE EXCEPTION
            'collection name is %: expected 1 to 200 characters without spaces around them',
            coalesce(quote_literal(left(name, 300)), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: handbook';
    END IF;
    PERFORM pgblend._check_text_search_config(text_search_config);
    settings := coalesce(settings, '{}');
    PERFORM pgblend._check_settings(
        settings, ARRAY['search', 'collection'], 'collection settings');
    PERFORM pgblend._check_chunk_sizes(pgblend._collection_settings(settings));
    INSERT INTO pgblend_data.collection (name, text_search_config, settings, buckets)
    VALUES (
        name, text_search_config, settings,
        CASE WHEN shards IS NOT NULL THEN pgblend._buckets_of_shards(shards) END)
    ON CONFLICT ON CONSTRAINT collection_name_key DO NOTHING
    RETURNING id INTO new_id;
    IF new_id IS NULL THEN
        RAISE EXCEPTION 'there is a collection "%" already', name
            USING ERRCODE = '42710',
            HINT = 'Give another name. Its shards cannot be changed: make another and ingest again.';
    END IF;
    RETURN new_id;
END;
$function$;
