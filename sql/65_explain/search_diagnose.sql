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
