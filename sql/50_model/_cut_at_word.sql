-- _cut_at_word: at most `length` characters of a text, in whole words where it has any.
CREATE OR REPLACE FUNCTION pgblend._cut_at_word(content text, length integer)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.words import cut_at_word

return cut_at_word(content, length)
$python$;
