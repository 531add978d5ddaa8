-- _script_language: the language that the script of a text tells, as its ISO 639-1 code: zh, ja,
-- ko, th, lo, km or my; NULL where it tells none. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._script_language(content text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.words import script_language

return script_language(content)
$python$;

-- _document_language: the text search configuration of a document for which none is named: that of
-- the language which its script tells, else the collection's.
-- A configuration that users made themselves is kept for all. NULL content is an empty text.
CREATE OR REPLACE FUNCTION pgblend._document_language(
    collection_config text,
    title text,
    content text
)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    words text := concat_ws(' ', title, left(content, 2400));
BEGIN
    IF octet_length(words) = char_length(words) THEN
        RETURN collection_config;
    END IF;
    RETURN coalesce((
        SELECT pgblend._script_language(words) FROM pg_ts_config AS c
        WHERE c.cfgname = collection_config
            AND c.cfgnamespace IN ('pg_catalog'::regnamespace, 'pgblend'::regnamespace)
        LIMIT 1), collection_config);
END;
$function$;
