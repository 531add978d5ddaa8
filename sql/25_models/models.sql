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
    checked jsonb;
BEGIN
    PERFORM pgblend._searched_space(space);
    PERFORM pgblend._check_size('texts', cardinality(texts), 'items', 'array_items');
    IF array_position(texts, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'text % is NULL: expected a text', array_position(texts, NULL)
            USING ERRCODE = '22004', HINT = 'Leave NULLs out, or use coalesce(…, '''').';
    ELSIF coalesce(cardinality(texts), 0) = 0 THEN
        RETURN '{}';
    END IF;
    checked := (
        SELECT pgblend._checked_vectors(
            pgblend._model_answer('embed', jsonb_build_object('input', texts), s.name, timeout_ms),
            cardinality(texts), s)
        FROM pgblend._searched_space(space) AS s);
    IF checked ? 'problem' THEN
        RAISE EXCEPTION '%', checked ->> 'problem'
            USING ERRCODE = 'PB008', HINT = checked ->> 'hint';
    END IF;
    RETURN (
        SELECT array_agg(v.value::text::vector ORDER BY v.place)
        FROM jsonb_array_elements(checked -> 'vectors') WITH ORDINALITY AS v (value, place));
END;
$function$;

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

-- rerank_passages: how well each passage answers a query, from 0 to 1, by the setting
-- rerank_model. One row a passage, the best first, ties in the order given; `place` counts them
-- from 1 as they were given. Of a passage the first 4,000 characters are read, in whole words; one
-- without text scores 0. NULL timeout_ms means the setting timeouts_ms. A NULL or blank query, and
-- no passages, give no rows. PB008 where the gateway fails, has no model, or gives other than a
-- score for each.
CREATE OR REPLACE FUNCTION blend.rerank_passages(
    query text,
    passages text[],
    timeout_ms integer DEFAULT NULL
)
RETURNS TABLE (rank bigint, place bigint, score double precision)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
ROWS 20
AS $function$
DECLARE
    places bigint[];
    texts text[];
    found jsonb;
BEGIN
    PERFORM pgblend._check_query(query);
    PERFORM pgblend._check_size('passages', cardinality(passages), 'items', 'array_items');
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' OR coalesce(cardinality(passages), 0) = 0 THEN
        RETURN;
    END IF;
    SELECT array_agg(p.number), array_agg(p.text) INTO places, texts
    FROM (
        SELECT u.number, pgblend._cut_at_word(u.passage, 4000) AS text
        FROM unnest(passages) WITH ORDINALITY AS u (passage, number)
        WHERE btrim(u.passage, E' \t\r\n') <> ''
        ORDER BY u.number
    ) AS p;
    IF places IS NULL THEN
        found := '{"scores": []}';
    ELSE
        found := pgblend._checked_scores(
            pgblend._model_answer(
                'rerank', jsonb_build_object('query', query, 'documents', texts),
                timeout_ms => timeout_ms),
            cardinality(texts));
    END IF;
    IF found ? 'problem' THEN
        RAISE EXCEPTION '%', found ->> 'problem'
            USING ERRCODE = 'PB008',
            HINT = 'Does the model of the setting rerank_model score passages?';
    END IF;
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY s.score DESC, s.number), s.number, s.score
    FROM (
        SELECT
            u.number,
            coalesce((found -> 'scores' -> (array_position(places, u.number) - 1))
                ::double precision, 0) AS score
        FROM unnest(passages) WITH ORDINALITY AS u (passage, number)
    ) AS s
    ORDER BY s.score DESC, s.number;
END;
$function$;

-- _checked_scores: the scores of `count` texts in a reranker's answer, or what is wrong with it.
-- {"scores": [0 to 1 each]} or {"problem": text}.
CREATE OR REPLACE FUNCTION pgblend._checked_scores(answer jsonb, count integer)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.search.rerank import checked_scores

scores = checked_scores(json.loads(answer), count)
return json.dumps({"problem" if isinstance(scores, str) else "scores": scores})
$python$;

-- _cut_at_word: at most `length` characters of a text, in whole words where it has any.
CREATE OR REPLACE FUNCTION pgblend._cut_at_word(content text, length integer)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.words import cut_at_word

return cut_at_word(content, length)
$python$;

-- _checked_vectors: the vectors of `count` texts in a gateway's answer, or what is wrong with it.
-- {"vectors": [one of numbers each]} or {"problem": text, "hint": text}. With a space they have its
-- size, without one all the same; NULL or a row of NULLs means none.
CREATE OR REPLACE FUNCTION pgblend._checked_vectors(
    answer jsonb,
    count integer,
    space pgblend_data.embedding_space
)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.models.outcome import checked_vectors

vectors = checked_vectors(json.loads(answer), count, space)
return json.dumps(vectors if isinstance(vectors, dict) else {"vectors": vectors})
$python$;

-- _searched_space: the embedding space of this name; NULL is the active one, a NULL row where there
-- is none.
-- A name that is not there is an error.
CREATE OR REPLACE FUNCTION pgblend._searched_space(space text)
RETURNS pgblend_data.embedding_space
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    named pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO named
    FROM pgblend_data.embedding_space AS s
    WHERE CASE WHEN space IS NULL THEN s.active ELSE s.name = space END;
    IF NOT FOUND AND space IS NOT NULL THEN
        RAISE EXCEPTION 'there is no embedding space "%"', left(space, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.embedding_spaces';
    END IF;
    RETURN named;
END;
$function$;

-- _vector_problem: what hinders that a vector is stored in a space, as the end of a sentence; NULL
-- where nothing does.
-- Cosines of a vector whose squared length is beyond what a real holds are NaN, so such vectors
-- are refused as those without direction are.
CREATE OR REPLACE FUNCTION pgblend._vector_problem(
    embedding vector,
    dimensions integer,
    storage text
)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN embedding IS NULL THEN 'is NULL'
    WHEN vector_dims(embedding) <> dimensions
        THEN format('has %s dimensions, not %s', vector_dims(embedding), dimensions)
    WHEN vector_norm(embedding) = 0 THEN 'is zero in all dimensions, so it has no direction'
    WHEN vector_norm(embedding) NOT BETWEEN 1e-15 AND 1e15
        THEN format('has the length %s: expected 1e-15 to 1e15', vector_norm(embedding)::real)
    WHEN storage <> 'vector' AND vector_norm(embedding) > 65504 AND (
        SELECT max(abs(n.number)) FROM unnest(embedding::real[]) AS n (number)) > 65504
        THEN format('has numbers beyond 65504, the most that storage %s holds', storage)
    WHEN storage <> 'vector' AND vector_norm(embedding) < 1e-3
        AND l2_norm(embedding::halfvec) = 0
        THEN format('is zero in all dimensions once it is stored as %s', storage)
END;

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
