-- create_unaccent_config: make a text search configuration that reads é as e; returns its name.
-- It is `base` with the extension unaccent before its own dictionaries, named base_unaccent, in
-- pgblend's schema. An existing one stays as it is. ingest_document takes it as language.
CREATE OR REPLACE FUNCTION blend.create_unaccent_config(base text)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    config_name text := base || '_unaccent';
    dictionaries text;
    token text;
BEGIN
    PERFORM pgblend._check_text_search_config(base);
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_ts_dict AS d
        WHERE d.dictname = 'unaccent' AND pg_ts_dict_is_visible(d.oid)
    ) THEN
        RAISE EXCEPTION 'the extension unaccent is not installed'
            USING ERRCODE = '0A000', HINT = 'CREATE EXTENSION unaccent SCHEMA public';
    ELSIF pgblend._regconfig(config_name) IS NOT NULL THEN
        RETURN config_name;
    END IF;
    -- Calls in text: none (names of configurations).
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION pgblend.%I (COPY = %s)',
        config_name, pgblend._regconfig(base));
    FOREACH token IN ARRAY '{word, hword, hword_part}'::text[] LOOP
        SELECT string_agg(m.mapdict::regdictionary::text, ', ' ORDER BY m.mapseqno)
        INTO dictionaries
        FROM pg_catalog.pg_ts_config_map AS m
        INNER JOIN ts_token_type('default') AS t ON t.tokid = m.maptokentype
        WHERE m.mapcfg = pgblend._regconfig(config_name) AND t.alias = token;
        EXECUTE format('ALTER TEXT SEARCH CONFIGURATION pgblend.%I ALTER MAPPING FOR %I WITH '
            'unaccent, %s', config_name, token, dictionaries);
    END LOOP;
    RETURN config_name;
END;
$function$;
