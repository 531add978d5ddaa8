-- _checked_expansion: {lexicalQueries, vectorQueries, hyde} of an answer; NULL for another shape.
CREATE OR REPLACE FUNCTION pgblend._checked_expansion(answer jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.models.expansion import checked_expansion

expansion = checked_expansion(json.loads(answer))
return expansion and json.dumps(expansion)
$python$;

-- expand_query: a query in other words, by the model of the setting expansion_model.
-- {"lexicalQueries": [for the lexical arm], "vectorQueries": [for the vector arm], "hyde": a
-- passage that might answer it or null, "notes", "queryLanguage", "promptVersion", "cached"}: what
-- the option expansion of a search takes. `language` is an ISO code, NULL lets the gateway detect
-- it; with `hyde_only` only that passage is asked for, and the lists are empty. NULL timeout_ms
-- means the setting timeouts_ms. A NULL or blank query gives NULL; PB008 where the gateway fails,
-- has no model, or gives another shape.
CREATE OR REPLACE FUNCTION blend.expand_query(
    query text,
    language text DEFAULT NULL,
    hyde_only boolean DEFAULT false,
    timeout_ms integer DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    answer jsonb;
    expansion jsonb;
BEGIN
    PERFORM pgblend._check_query(query);
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' THEN
        RETURN NULL;
    END IF;
    answer := pgblend._model_answer(
        CASE WHEN hyde_only THEN 'hyde' ELSE 'expand' END,
        jsonb_strip_nulls(jsonb_build_object('query', query, 'language', language)),
        timeout_ms => timeout_ms);
    expansion := pgblend._checked_expansion(answer);
    IF expansion IS NULL THEN
        RAISE EXCEPTION 'the gateway''s answer is no expansion: %',
            left(pgblend._mask_secrets(answer::text), 200)
            USING ERRCODE = 'PB008', HINT = 'Is gateway_url the address of a model gateway?';
    END IF;
    RETURN expansion || jsonb_build_object(
        'notes', answer -> 'notes', 'queryLanguage', answer -> 'queryLanguage',
        'promptVersion', answer -> 'promptVersion', 'cached', coalesce(answer -> 'cached', 'false'));
END;
$function$;
