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
