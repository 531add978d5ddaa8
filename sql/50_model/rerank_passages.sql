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
