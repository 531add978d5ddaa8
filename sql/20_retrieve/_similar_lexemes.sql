-- _similar_lexemes: for each lexeme that is not in the index up to 24 that are, and that it may
-- stand for, with the cost of the edits, the least first. words are what the lexemes were made
-- from. At first whatever one edit of the word gives, stemmed (a stemmer cuts a misspelt ending
-- elsewhere than the right one): cost 1 each; and the lexemes that go on where word or lexeme of
-- four letters and more end, for an ending's cost. Where there are none of these, or the alphabet
-- is another, of 50 candidates by trigrams those not too many edits away. `reading` is that of
-- _lexical_statistics. Lexemes under 3 and over 60 letters have none. Adding nothing to the
-- collection's id hides the b-tree index, through all of which the planner would walk before the
-- table is analyzed. BETWEEN a word and itself is = for which the trigram index, slow for that, is
-- no way. The SET clauses put the caller's values back.
CREATE OR REPLACE FUNCTION pgblend._similar_lexemes(
    collection_ids bigint[],
    config_name text,
    words text[],
    lexemes text[],
    reading uuid
)
RETURNS TABLE (lexeme text, candidate text, cost double precision)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
ROWS 20
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
SET "pg_trgm.similarity_threshold" = 0.25
SET "pgblend.fuzzy_lexeme" = ''
AS $python$
from pgblend.plpy.lexical.spelling import closest_lexemes, single_edits
from pgblend.plpy.session import prepared_statements

run = prepared_statements(plpy.prepare, SD)
MOST = 24
KNOWN = (
    " CROSS JOIN LATERAL (SELECT v.lexeme FROM pgblend_data.vocabulary AS v"
    " WHERE v.collection_id = ANY($1) AND v.text_search_config = $2")

def edited(edits):
    if run("SELECT pgblend._has_numpy() AS found", [])[0]["found"]:
        found = run(
            "SELECT * FROM pgblend._indexed_stems($1, $2, $3, $4)",
            ["bigint[]", "text", "text[]", "uuid"], collection_ids, config_name, edits, reading)
    else:
        found = run(
            "SELECT e.place, known.lexeme FROM unnest($3) WITH ORDINALITY AS e (edits, place)"
            " CROSS JOIN LATERAL unnest(tsvector_to_array("
            "to_tsvector(pgblend._regconfig($2), e.edits))) AS stem" + KNOWN +
            " AND v.lexeme BETWEEN stem AND stem LIMIT 1) AS known",
            ["bigint[]", "text", "text[]"],
            collection_ids, config_name, edits)
    return [(row["place"] - 1, row["lexeme"], 1.0) for row in found]

def finished(words, lexemes, edits):
    begun = [
        (place, start, start[:-1] + chr(ord(start[-1]) + 1))
        for place, pair in enumerate(zip(words, lexemes))
        for start in sorted(set(pair))
        if len(start) >= 4 and edits[place]]
    found = run(
        "SELECT b.place, known.lexeme FROM unnest($3, $4, $5) AS b (place, start, beyond)" + KNOWN +
        " AND v.lexeme >= b.start AND v.lexeme < b.beyond"
        " AND char_length(v.lexeme) <= 2 * char_length(b.start)"
        " ORDER BY v.lexeme LIMIT 50) AS known",
        ["bigint[]", "text", "integer[]", "text[]", "text[]"],
        collection_ids, config_name, *(list(part) for part in zip(*begun))) if begun else []
    return [
        (row["place"], candidate, cost)
        for row in found
        for candidate, cost in closest_lexemes(
            words[row["place"]], lexemes[row["place"]], [row["lexeme"]], 1)]

def alike(word, lexeme):
    run("SELECT set_config('pgblend.fuzzy_lexeme', $1, true)", ["text"], lexeme)
    found = run(
        "SELECT s.lexeme FROM pgblend._similar_lexeme AS s"
        " WHERE s.collection_id + 0 = ANY($1) AND s.text_search_config || '' = $2"
        " ORDER BY s.likeness DESC, s.lexeme LIMIT 50",
        ["bigint[]", "text"], collection_ids, config_name)
    return closest_lexemes(word, lexeme, [row["lexeme"] for row in found], MOST)

pairs = [pair for pair in zip(words, lexemes) if 3 <= len(pair[1]) <= 60 and len(pair[0]) <= 60]
if not pairs:
    return []
costs = [{} for pair in pairs]
edits = [" ".join(single_edits(word)) for word, _ in pairs]
for place, candidate, cost in edited(edits) + finished(*zip(*pairs), edits):
    costs[place][candidate] = min(cost, costs[place].get(candidate, cost))
return [
    (lexeme, candidate, cost)
    for (word, lexeme), near in zip(pairs, costs)
    for candidate, cost in (
        sorted(near.items(), key=lambda item: item[::-1])[:MOST] if near else alike(word, lexeme))]
$python$;
