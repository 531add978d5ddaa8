-- _answered_vectors: the vectors in the gateway's answer, one a text in their order.
-- `answer` is OpenAI's: {"data": [{"index", "embedding"}, …]}. With a space they have its size. An
-- answer with other than one vector of one size for each text is an error (PB008).
CREATE OR REPLACE FUNCTION pgblend._answered_vectors(
    answer jsonb,
    text_count integer,
    space pgblend_data.embedding_space
)
RETURNS vector[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    checked jsonb := pgblend._checked_vectors(answer, text_count, space);
BEGIN
    IF checked ? 'problem' THEN
        RAISE EXCEPTION '%', checked ->> 'problem'
            USING ERRCODE = 'PB008', HINT = checked ->> 'hint';
    END IF;
    RETURN (
        SELECT array_agg(v.value::text::vector ORDER BY v.place)
        FROM jsonb_array_elements(checked -> 'vectors') WITH ORDINALITY AS v (value, place));
END;
$function$;
