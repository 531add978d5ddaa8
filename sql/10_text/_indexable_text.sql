-- _spaced_bigrams: text whose runs of scripts without word spaces are written as overlapping pairs.
-- NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._spaced_bigrams(content text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.words import spaced_bigrams

return spaced_bigrams(content)
$python$;

-- _indexable_text: text as the parser gets it, for chunks and queries alike.
-- The characters < > / \ - become spaces. So words within < > are no tags, the parts of paths and
-- compounds are words, and 1042 in ERR-1042 is no negative number. Scripts without word spaces
-- become pairs of syllables; other text does not pay for that. NULL gives NULL. One expression and
-- not STRICT, so that it is inlined and needs no plan of its own.
CREATE OR REPLACE FUNCTION pgblend._indexable_text(content text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL UNSAFE
RETURN CASE
    WHEN
        octet_length(content) > char_length(content)
        AND content ~ (
            U&'[\0E01-\0EDF\1000-\109F\1780-\17DD\3005-\9FFF\AC00-\D7A3\F900-\FAFF\FF66-\FF9F'
            || U&'\+020000-\+03FFFF]'
        )
        THEN pgblend._spaced_bigrams(translate(content, '<>/\-', '     '))
    ELSE translate(content, '<>/\-', '     ')
END;
