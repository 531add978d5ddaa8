-- create_hunspell_config: make a text search configuration of a Hunspell dictionary; returns its
-- name, which is `language`.
-- For languages without a stemmer. `dictionary` names files of the server's folder tsearch_data:
-- pl_pl for pl_pl.dict and pl_pl.affix. Words that the dictionary lacks stay as they are written.
-- Both are made in pgblend's schema; an existing configuration stays as it is. NULL, and files that
-- are not there or that PostgreSQL cannot read, are an error.
CREATE OR REPLACE FUNCTION blend.create_hunspell_config(language text, dictionary text)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    dictionary_name text := language || '_hunspell';
BEGIN
    IF coalesce(language, '') !~ '^[a-z][a-z_]{1,50}$'
        OR coalesce(dictionary, '') !~ '^[a-z0-9_]{1,60}$'
    THEN
        RAISE EXCEPTION 'a language and a dictionary have lower-case letters, digits and _, not % '
            'and %', coalesce(quote_literal(language), 'NULL'),
            coalesce(quote_literal(dictionary), 'NULL')
            USING ERRCODE = '22023', HINT = 'create_hunspell_config(''polish'', ''pl_pl'')';
    ELSIF pgblend._regconfig(language) IS NOT NULL THEN
        RETURN language;
    END IF;
    -- Calls in text: none (names of dictionaries and configurations).
    BEGIN
        EXECUTE format('CREATE TEXT SEARCH DICTIONARY pgblend.%I '
            '(TEMPLATE = pg_catalog.ispell, DictFile = %L, AffFile = %L)',
            dictionary_name, dictionary, dictionary);
    EXCEPTION WHEN config_file_error THEN
        RAISE EXCEPTION 'the dictionary "%" cannot be read: %', dictionary, SQLERRM
            USING ERRCODE = 'F0000', HINT = 'Debian: apt install hunspell-pl makes pl_pl; '
                'elsewhere put pl_pl.dict and pl_pl.affix, in UTF-8, into tsearch_data.';
    END;
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION pgblend.%I (COPY = pg_catalog.simple)',
        language);
    EXECUTE format('ALTER TEXT SEARCH CONFIGURATION pgblend.%I ALTER MAPPING FOR asciiword, word, '
        'asciihword, hword, hword_asciipart, hword_part WITH pgblend.%I, pg_catalog.simple',
        language, dictionary_name);
    RETURN language;
END;
$function$;

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
