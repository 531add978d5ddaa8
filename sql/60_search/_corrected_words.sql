-- _corrected_words: the words that the fuzzy arm put in place of misspelt ones, as a text to mark
-- in a snippet; NULL where it did not.
CREATE OR REPLACE FUNCTION pgblend._corrected_words(arms jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT string_agg(translate(w.word, '"-', '  '), ' ')
    FROM jsonb_each(arms #> '{fuzzy,corrections}') AS c
    CROSS JOIN LATERAL jsonb_array_elements_text(c.value) AS w (word);
END;

COMMENT ON FUNCTION pgblend._corrected_words(jsonb) IS
'The words that the fuzzy arm put in place of misspelt ones, as a text to mark in a snippet.';
