-- embed_text: vectors of texts, by the model of an embedding space, through the gateway.
-- One vector a text, in their order. NULL space means the active one, or the model of the setting
-- embedding_model while there is none. NULL timeout_ms means the setting timeouts_ms. NULL or an
-- empty array gives an empty one. A NULL text and an unknown space are errors. PB008 where the
-- gateway fails, or gives other than one vector of the space's size for each text.
CREATE OR REPLACE FUNCTION blend.embed_text(
    texts text[],
    space text DEFAULT NULL,
    timeout_ms integer DEFAULT NULL
)
RETURNS vector[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    target pgblend_data.embedding_space := pgblend._searched_space(space);
    checked jsonb;
BEGIN
    PERFORM pgblend._check_size('texts', cardinality(texts), 'items', 'array_items');
    IF array_position(texts, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'text % is NULL: expected a text', array_position(texts, NULL)
            USING ERRCODE = '22004', HINT = 'Leave NULLs out, or use coalesce(…, '''').';
    ELSIF coalesce(cardinality(texts), 0) = 0 THEN
        RETURN '{}';
    END IF;
    checked := pgblend._checked_vectors(
        pgblend._model_answer('embed', jsonb_build_object('input', texts), target.name, timeout_ms),
        cardinality(texts), target);
    IF checked ? 'problem' THEN
        RAISE EXCEPTION '%', checked ->> 'problem'
            USING ERRCODE = 'PB008', HINT = checked ->> 'hint';
    END IF;
    RETURN (
        SELECT array_agg(v.value::text::vector ORDER BY v.place)
        FROM jsonb_array_elements(checked -> 'vectors') WITH ORDINALITY AS v (value, place));
END;
$function$;
