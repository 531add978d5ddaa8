-- add_collection: make a collection and return its id.
-- Only admins see it until it is granted (grant_collection). A name in use, an unknown text search
-- configuration and wrong settings are errors. Settings are those of scope collection and search in
-- blend.setting_catalog().
CREATE OR REPLACE FUNCTION blend.add_collection(
    name text,
    text_search_config text DEFAULT 'english',
    settings jsonb DEFAULT '{}'
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
    INSERT INTO pgblend_data.collection (name, text_search_config, settings)
    VALUES (name, text_search_config, settings)
    ON CONFLICT ON CONSTRAINT collection_name_key DO NOTHING
    RETURNING id INTO new_id;
    IF new_id IS NULL THEN
        RAISE EXCEPTION 'there is a collection "%" already', name
            USING ERRCODE = '42710', HINT = 'SELECT name FROM blend.collections';
    END IF;
    RETURN new_id;
END;
$function$;
