-- _name_lexemes: the lexemes of a document's names, for its first chunk: weight C, whole names with
-- "==" before them, which no parser gives, and words that the title lacks.
-- Whole names are at position 1, so that no phrase goes from the text before into the words. A key
-- that is a number or a code gives none. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._name_lexemes(
    config regconfig,
    source_key text,
    title_words tsvector
)
RETURNS tsvector
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET client_min_messages = warning
AS $python$
from pgblend.plpy.session import prepared_statements
from pgblend.plpy.text.identifiers import name_field

LEXEMES = """
    SELECT setweight(
        array_to_string(ARRAY(
            SELECT '''==' || replace(replace(n.name, '\\', '\\\\'), '''', '''''') || ''':1'
            FROM unnest($3) AS n (name)), ' ')::tsvector
        || ts_delete(
            to_tsvector($1, pgblend._indexable_text($2)), tsvector_to_array($4)),
        'C') AS lexemes"""

words, *names = name_field(source_key)
if not names:
    return ""
run = prepared_statements(plpy.prepare, SD)
types = ["regconfig", "text", "text[]", "tsvector"]
return run(LEXEMES, types, config, words, names, title_words)[0]["lexemes"]
$python$;
