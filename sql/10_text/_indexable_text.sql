-- _parser_text: _indexable_text of text that is not plain. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._parser_text(content text, config_name text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.words import indexable_text

return indexable_text(content, config_name)
$python$;

-- _indexable_text: text as the parser gets it under a configuration, for chunks and queries alike
-- (plpy/lexical/words.py).
-- Plain text, which most queries are, pays for no call: in it, only the characters < > / \ - become
-- spaces. NULL gives NULL. One expression and not STRICT, so that it is inlined and needs no plan
-- of its own.
CREATE OR REPLACE FUNCTION pgblend._indexable_text(content text, config regconfig)
RETURNS text
LANGUAGE sql
STABLE PARALLEL UNSAFE
RETURN CASE
    WHEN
        content ~ '[^\n -~]|\w\.\w|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|\d ?[A-Za-z]{1,4}\M|\d[,'' ]\d'
        OR (content ~ 'I' AND config::text ~ '(^|[._])(turk|azer|tr_|az_)')
        THEN pgblend._parser_text(content, config::text)
    ELSE translate(content, '<>/\-', '     ')
END;
