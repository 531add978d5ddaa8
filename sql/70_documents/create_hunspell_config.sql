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
