-- _corrected_words: the words that the fuzzy arm put in place of misspelt ones, as a text to mark
-- in a snippet; NULL where it did not.
CREATE OR REPLACE FUNCTION pgblend._corrected_words(arms jsonb)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN (
        SELECT string_agg(translate(w.word, '"-', '  '), ' ')
        FROM jsonb_each(arms #> '{fuzzy,corrections}') AS c
        CROSS JOIN LATERAL jsonb_array_elements_text(c.value) AS w (word));
END;
$function$;

COMMENT ON FUNCTION pgblend._corrected_words(jsonb) IS
'The words that the fuzzy arm put in place of misspelt ones, as a text to mark in a snippet.';
