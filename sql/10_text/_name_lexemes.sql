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
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
SET client_min_messages = warning
AS $function$
DECLARE
    field text[] := pgblend._name_field(source_key);
BEGIN
    IF cardinality(field) = 1 THEN
        RETURN '';
    END IF;
    RETURN setweight(
        array_to_string(ARRAY(
            SELECT '''==' || replace(replace(n.name, '\', '\\'), '''', '''''') || ''':1'
            FROM unnest(field[2:]) AS n (name)), ' ')::tsvector
        || ts_delete(
            to_tsvector(config, pgblend._indexable_text(field[1])),
            tsvector_to_array(title_words)),
        'C');
END;
$function$;
