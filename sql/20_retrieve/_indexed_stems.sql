-- _indexed_stems: the lexemes of some texts that chunks of a text search configuration have, each
-- with the place of its text, from 1.
-- By the segments' directories and the pending chunks, which a session keeps: some thousand words
-- are looked for at once, for which look-ups in the vocabulary would take three times as long.
-- Needs numpy.
CREATE OR REPLACE FUNCTION pgblend._indexed_stems(
    collection_ids bigint[],
    config_name text,
    texts text[],
    reading uuid DEFAULT NULL
)
RETURNS TABLE (place integer, lexeme text)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.lexical.index import open_index
from pgblend.plpy.lexical.records import term_ids
from pgblend.plpy.lexical.statistics import known_terms
from pgblend.plpy.session import prepared_statements

run = prepared_statements(plpy.prepare, SD)
opened = open_index(run, GD, collection_ids, reading)
found = run(
    "SELECT t.place::integer AS place, array_to_string("
    "tsvector_to_array(to_tsvector(pgblend._regconfig($1), t.text)), E'\\n') AS lexemes"
    " FROM unnest($2) WITH ORDINALITY AS t (text, place)",
    ["text", "text[]"], config_name, texts)
pairs = [(row["place"], lexeme) for row in found for lexeme in row["lexemes"].split("\n")]
ids = term_ids([lexeme for _, lexeme in pairs])
known = known_terms(opened, config_name, ids)
return [pair for pair, term in zip(pairs, ids) if term in known]
$python$;
