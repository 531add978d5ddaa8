-- rerank_candidates: the passages of a search that a reranker would read, best fused score first.
-- For those who rerank outside the database: give {chunk_id: score} back as the option
-- rerank_scores of the same search. Arguments and errors are those of hybrid_search; a NULL or
-- blank query gives no rows.
CREATE OR REPLACE FUNCTION blend.rerank_candidates(
    query text,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL,
    result_limit integer DEFAULT 10
)
RETURNS TABLE (rank bigint, chunk_id bigint, passage text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
ROWS 20
AS $function$
BEGIN
    RETURN QUERY
    SELECT p.place, (p.value ->> 'chunk_id')::bigint, p.value ->> 'passage'
    FROM jsonb_array_elements((pgblend._search(
        query, result_limit, collections, filter, profile, options, query_embedding,
        traced => 'rerank')).trace -> 'passages') WITH ORDINALITY AS p (value, place);
END;
$function$;
