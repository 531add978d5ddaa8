-- ask: passages that answer a question, and an answer whose every sentence they bear out.
-- {"query", "mode", "queryLanguage", "answer", "citations": [{citation, docid, document_id, uri,
-- title, collection, source_key, startLine, endLine, pages, quote, quoteLines, isCited,
-- isChecked}], "results", "meta": {expanded, reranked, vectorsUsed, tokens, answerModel, abstained,
-- answerCut}, "checks": {sentences, kept, dropped, quotations, quotations_found}, "degraded"}.
-- Where the question was split (setting sub_questions) also "questions": [{question, citations,
-- hasEvidence}]. A NULL or blank query is an error. `answer`: true asks the model of the setting
-- answer_model, false none, NULL where one is set. Where the model fails the citations stand alone,
-- degraded and a WARNING say why, and the option strict makes it an error. Options: those of
-- get_context, and answer_tokens. With a chat model every sentence of the answer cites passages,
-- and every quotation was found word for word, every address and piece of code whole. What was not
-- is left out, and named in checks.
CREATE OR REPLACE FUNCTION blend.ask(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL,
    answer boolean DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    settings jsonb := pgblend._context_settings(options, profile, collections);
    passages jsonb := pgblend._ask_passages(
        query, result_limit, collections, filter, profile, options, query_embedding);
    hint text;
    reply jsonb;
BEGIN
    IF coalesce(answer, blend.get_setting('answer_model') <> 'null') THEN
        BEGIN
            reply := pgblend._answer_reply(passages, settings);
        EXCEPTION WHEN SQLSTATE 'PB008' THEN
            GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
            passages := jsonb_set(passages, '{degraded}',
                (passages -> 'degraded') || to_jsonb(
                    pgblend._degrade('answer', SQLERRM, SQLSTATE, hint, settings)));
        END;
    END IF;
    RETURN pgblend._ask_document(passages, reply);
END;
$function$;

-- _answer_reply: what the answer model says to a question: {"model", "text", "finish_reason"}.
-- NULL where there are no passages. PB008 where no model is set, the gateway fails, or its answer
-- is no chat completion.
CREATE OR REPLACE FUNCTION pgblend._answer_reply(passages jsonb, settings jsonb)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    answer jsonb;
BEGIN
    IF passages -> 'parts' = '[]' THEN
        RETURN NULL;
    END IF;
    answer := pgblend._model_answer(
        'answer',
        jsonb_build_object(
            'messages', passages -> 'messages',
            'max_tokens', settings -> 'answer_tokens',
            'temperature', 0,
            'user', 'pgblend:answer'),
        timeout_ms => (settings #>> '{timeouts_ms,answer}')::numeric::integer);
    IF jsonb_typeof(answer #> '{choices,0,message,content}') IS DISTINCT FROM 'string' THEN
        RAISE EXCEPTION 'the gateway''s answer is no chat completion: %',
            left(pgblend._mask_secrets(answer::text), 200)
            USING ERRCODE = 'PB008', HINT = 'Is gateway_url the address of a model gateway?';
    ELSIF btrim(answer #>> '{choices,0,message,content}', E' \t\r\n') = '' THEN
        RAISE EXCEPTION 'the model said nothing'
            USING ERRCODE = 'PB008', HINT = 'Ask again, or set another answer_model.';
    END IF;
    RETURN jsonb_build_object(
        'model', coalesce(answer ->> 'model', blend.get_setting('answer_model') #>> '{}'),
        'text', answer #> '{choices,0,message,content}',
        'finish_reason', answer #> '{choices,0,finish_reason}');
END;
$function$;

-- _ask_passages: the passages that a question is answered from, as ask_document takes them.
-- {query, mode, queryLanguage, parts, messages, results, meta {expanded, reranked, vectorsUsed,
-- tokens}, abstains, questions (NULL unless the query was split), degraded}. Where no passage has
-- as much relevance as abstain_below, there are no parts, and abstains is true. mode is that of
-- search_explain's meta. The language is the gateway's guess, where it expanded the query, else
-- that of _query_language. A NULL or blank query is an error. `messages` ask a chat model; with the
-- rules and the question they fit into max_tokens.
CREATE OR REPLACE FUNCTION pgblend._ask_passages(
    query text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    settings jsonb;
    search record;
    context jsonb;
    abstains boolean;
    questions jsonb;
BEGIN
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' THEN
        RAISE EXCEPTION 'query is %: expected a question', coalesce(quote_literal(query), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: ask(''how do I deploy?'')';
    END IF;
    settings := pgblend._context_settings(options, profile, collections);
    search := pgblend._search(
        query, result_limit, collections, filter, profile, options, query_embedding,
        traced => 'page', is_reported => false);
    abstains := (settings ->> 'abstain_below')::double precision
        > (SELECT max(r.relevance) FROM unnest(search.results) AS r);
    questions := jsonb_path_query_first(search.trace, '$.stages[*].details.subQuestions');
    context := pgblend._context_of(
        query, CASE WHEN abstains THEN '{}'::blend.search_result[] ELSE search.results END, settings,
        'messages', questions);
    PERFORM pgblend._report_context(search.report, context -> 'stats');
    RETURN jsonb_build_object(
        'query', query,
        'queryLanguage', coalesce(
            jsonb_path_query_first(search.trace, '$.stages[*].details.queryLanguage ? (@ != "und")')
                #>> '{}',
            pgblend._query_language(query)),
        'parts', context -> 'parts',
        'messages', context -> 'messages',
        'results', (
            SELECT coalesce(jsonb_agg(to_jsonb(r) - '{content,metadata,context_before,
                context_after,degraded,details}'::text[] ORDER BY r.rank), '[]')
            FROM unnest(search.results) AS r),
        'mode', search.trace #> '{meta,mode}',
        'meta', (search.trace -> 'meta') - 'mode'
            || jsonb_build_object('tokens', context #> '{stats,tokens}'),
        'abstains', coalesce(abstains, false),
        'questions', questions,
        'degraded', search.trace -> 'degraded');
END;
$function$;

-- _ask_document: the answer to a question as one JSON document.
-- `passages` is what _ask_passages gives, `reply` what the model said (model, text, finish_reason);
-- NULL where none was asked. Every sentence of the answer is held to the passages.
CREATE OR REPLACE FUNCTION pgblend._ask_document(passages jsonb, reply jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.answers.answer import ask_document

return json.dumps(ask_document(json.loads(passages), reply and json.loads(reply)))
$python$;
