-- search_diagnose: why a document is or is not among the results of a search.
-- The document is named by its id, source key or URI; all else is what hybrid_search takes. It
-- runs the very search and looks at its whole pool. Then it runs each arm once more over
-- everything, to know ranks beyond the cut. That takes as long as the collections are large.
-- {"query", "document", "stages": [{"stage", "passed", "finding", "details"}], "lost_at",
-- "verdict", "suggestion"}; stages come in the order of a search and end where the document is
-- lost. The verdict is one sentence; the suggestion says what the document would have needed. A
-- document that the caller may not read is reported exactly like one that is not there. A NULL or
-- blank query or document is an error.
CREATE OR REPLACE FUNCTION blend.search_diagnose(
    query text,
    document text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
BEGIN
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' OR coalesce(document, '') = '' THEN
        RAISE EXCEPTION 'the % is empty: expected a text',
            CASE WHEN coalesce(document, '') = '' THEN 'document' ELSE 'query' END
            USING ERRCODE = '22023',
            HINT = 'search_diagnose(''how do I deploy'', ''guide/deploy.md'')';
    END IF;
    PERFORM pgblend._check_result_limit(result_limit);
    PERFORM pgblend._check_query(query);
    RETURN pgblend._diagnosis(
        query, document, result_limit, collections, filter, profile, options, query_embedding);
END;
$function$;

-- _diagnosis: search_diagnose of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._diagnosis(
    query text,
    document text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector
)
RETURNS jsonb
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET "pgblend.readable" = ''
AS $python$
from pgblend.plpy.search.diagnosis import diagnosis
from pgblend.plpy.search.diagnosis_facts import Call
from pgblend.plpy.search.bridge import BridgedNode

return db.answer(diagnosis, Call(
    query, document, result_limit, collections, filter, profile, options, query_embedding),
    BridgedNode(db))
$python$;

-- _find_document: the document that a text means: its id (or docid, as ask gives it), its source
-- key or its URI, in this order.
-- NULL where there is none that the caller may read. A key or URI that several documents have is an
-- error, unless one collection of those searched has it alone.
CREATE OR REPLACE FUNCTION pgblend._find_document(document text, collection_ids bigint[])
RETURNS bigint
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found_ids bigint[];
    names text;
BEGIN
    WITH nearest AS (
        SELECT n.document_id, n.way, n.collection_id = ANY(collection_ids) AS is_searched, c.name
        FROM pgblend._documents_called(document) AS n
        INNER JOIN pgblend_data.collection AS c ON c.id = n.collection_id
        ORDER BY n.way ASC, 3 DESC
        FETCH FIRST 1 ROW WITH TIES
    )

    SELECT
        array_agg(n.document_id ORDER BY n.document_id),
        string_agg(format('%s in "%s"', n.document_id, n.name), ', ' ORDER BY n.document_id)
    INTO found_ids, names
    FROM nearest AS n;
    IF cardinality(found_ids) > 1 THEN
        RAISE EXCEPTION 'document "%" means several: %', left(document, 200), left(names, 500)
            USING ERRCODE = '22023', HINT = 'Give one of these ids, or search one collection.';
    END IF;
    RETURN found_ids[1];
END;
$function$;

-- _documents_called: the documents that a text means: way 1 is by id (or docid, as ask gives it), 2
-- by source key, 3 by URI.
CREATE OR REPLACE FUNCTION pgblend._documents_called(document text)
RETURNS TABLE (document_id bigint, collection_id bigint, way integer)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY
    SELECT d.id, d.collection_id, 1
    FROM pgblend_data.document AS d
    WHERE d.id = CASE
        WHEN document ~ '^[0-9]{1,18}$' THEN document::bigint
        WHEN document ~ '^#[0-9a-f]{6,15}$'
            THEN ('x' || lpad(substr(document, 2), 16, '0'))::bit(64)::bigint
    END
    UNION ALL
    SELECT d.id, d.collection_id, 2
    FROM pgblend_data.document AS d
    WHERE d.source_key = document
    UNION ALL
    SELECT d.id, d.collection_id, 3
    FROM pgblend_data.document AS d
    WHERE d.uri = document;
END;
$function$;

-- _document_holds: whether a passage of a document has a query's phrases, and none of what it
-- excludes; NULL where it has neither, or the document's language is not searched.
CREATE OR REPLACE FUNCTION pgblend._document_holds(
    document_id bigint,
    query text,
    collection_ids bigint[]
)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN (
        SELECT EXISTS (
            SELECT FROM pgblend_data.chunk AS c
            WHERE c.document_id = d.id AND c.lexemes @@ pgblend._query_condition(
                p.alternatives, p.operands, p.exclusions))
        FROM pgblend_data.document AS d
        CROSS JOIN LATERAL pgblend._parse_query(query, d.text_search_config) AS p
        WHERE d.id = _document_holds.document_id AND p.operands <> '{}' AND EXISTS (
            SELECT FROM pgblend_data.collection_language AS l
            WHERE l.text_search_config = d.text_search_config
                AND l.collection_id = ANY(collection_ids)));
END;
$function$;

-- _document_passes: whether a passage of a document passes a filter.
CREATE OR REPLACE FUNCTION pgblend._document_passes(document_id bigint, filter jsonb)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN cardinality(pgblend._filter_candidates(ARRAY(
        SELECT c.id FROM pgblend_data.chunk AS c
        WHERE c.document_id = _document_passes.document_id), filter)) > 0;
END;
$function$;

-- _document_words: a query's words as the lexical arm parses them in a document's language, and
-- whether it has each.
-- `words` are those whose language is looked for, `configs` the text search configurations that are
-- searched. An identifier as a whole is left out: its words tell as much.
CREATE OR REPLACE FUNCTION pgblend._document_words(
    document_id bigint,
    query text,
    words text,
    configs text[]
)
RETURNS TABLE (word text, is_there boolean)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 10
AS $function$
BEGIN
    RETURN QUERY
    SELECT
        l.word,
        EXISTS (
            SELECT FROM pgblend_data.chunk AS c
            WHERE c.document_id = d.id AND c.lexemes @@ pgblend._lexeme_tsquery(ARRAY[l.lexeme]))
    FROM pgblend_data.document AS d
    CROSS JOIN LATERAL pgblend._parse_query(query, d.text_search_config, CASE
        WHEN cardinality(configs) > 1
            THEN pgblend._query_stop_words(pgblend._indexable_text(words, 'simple'), configs)
        ELSE '{}' END) AS p
    CROSS JOIN LATERAL unnest(
        p.lexemes, pgblend._words_of_lexemes(
            pgblend._indexable_text(query, pgblend._regconfig(d.text_search_config)),
            d.text_search_config, p.lexemes)
    ) WITH ORDINALITY AS l (lexeme, word, place)
    WHERE d.id = _document_words.document_id AND l.lexeme NOT LIKE '=%'
    ORDER BY l.place;
END;
$function$;

-- _waiting_vectors: how many passages of a document wait for their vector in an embedding space.
CREATE OR REPLACE FUNCTION pgblend._waiting_vectors(document_id bigint, space text)
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN (
    SELECT count(*) FROM pgblend_data.embedding_queue AS q
    WHERE q.document_id = _waiting_vectors.document_id AND q.space = _waiting_vectors.space
);
