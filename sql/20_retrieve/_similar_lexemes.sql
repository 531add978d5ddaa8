-- _similar_lexemes: for each lexeme that is not in the index up to 12 that are, and that it may
-- stand for, the closest first, with the cost of the edits.
-- Trigrams choose 50 candidates: at first those that one edit leaves alike, by the lexeme's length
-- (swaps, which change most trigrams, are looked up as they are), then, where no candidate is one
-- edit away, all of similarity .25. words are what the lexemes were made from. Lexemes under 3 and
-- over 60 letters have none. Adding nothing to the collection's id hides the b-tree index, through
-- all of which the planner would walk before the table is analyzed. The SET clauses put the
-- caller's values back.
CREATE OR REPLACE FUNCTION pgblend._similar_lexemes(
    collection_ids bigint[],
    config_name text,
    words text[],
    lexemes text[]
)
RETURNS TABLE (lexeme text, candidate text, cost double precision)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
ROWS 20
SET search_path FROM CURRENT
SET "pg_trgm.similarity_threshold" = 0.25
SET "pgblend.fuzzy_lexeme" = ''
AS $python$
#include plpy/closest_lexemes.py

def run(query, types, *values):
    if query not in SD:
        SD[query] = plpy.prepare(query, types)
    return SD[query].execute(list(values))

def candidates(lexeme, threshold):
    run(
        "SELECT set_config('pgblend.fuzzy_lexeme', $1, true),"
        " set_config('pg_trgm.similarity_threshold', $2, true)",
        ["text", "text"], lexeme, str(threshold))
    swapped = [
        lexeme[:place] + lexeme[place + 1] + lexeme[place] + lexeme[place + 2:]
        for place in range(len(lexeme) - 1)]
    found = run(
        "SELECT known.lexeme FROM unnest($3) AS swapped (lexeme) CROSS JOIN LATERAL ("
        " SELECT v.lexeme FROM pgblend_data.vocabulary AS v"
        " WHERE v.collection_id = ANY($1) AND v.text_search_config = $2"
        " AND v.lexeme = swapped.lexeme LIMIT 1) AS known"
        " UNION ALL"
        " (SELECT s.lexeme FROM pgblend._similar_lexeme AS s"
        " WHERE s.collection_id + 0 = ANY($1) AND s.text_search_config || '' = $2"
        " ORDER BY s.likeness DESC, s.lexeme LIMIT 50)",
        ["bigint[]", "text", "text[]"], collection_ids, config_name, swapped)
    return [row["lexeme"] for row in found]

def closest(word, lexeme):
    letters = len(lexeme)
    if not 3 <= letters <= 60:
        return []
    first = 0.33 if letters < 6 else 0.4 if letters < 8 else 0.45
    near = closest_lexemes(word, lexeme, candidates(lexeme, first), 12)
    if near and near[0][1] <= 1:
        return near
    return closest_lexemes(word, lexeme, candidates(lexeme, 0.25), 12)

return [
    (lexeme, candidate, cost)
    for word, lexeme in zip(words, lexemes)
    for candidate, cost in closest(word, lexeme)]
$python$;

COMMENT ON FUNCTION pgblend._similar_lexemes(bigint[], text, text[], text[]) IS
'For each lexeme that is not in the index up to 12 that are and that it may stand for, the closest '
'first, with the cost of the edits.';
