-- graph_score: cosine plus 1 / (1 + depth), each 0 where it is NULL (did not find the node).
-- Depth 0 is a seed itself. Two NULLs give 0. A negative depth and a cosine outside [-1, 1] are
-- errors. For nodes found by their vector, through the graph, or both; it can reach 2.
CREATE OR REPLACE FUNCTION blend.graph_score(cosine double precision, depth integer)
RETURNS double precision
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    IF depth < 0 THEN
        RAISE EXCEPTION 'depth is %: expected a number from 0', depth
            USING ERRCODE = '22023', HINT = 'A seed itself has depth 0.';
    ELSIF NOT cosine BETWEEN -1 AND 1 THEN
        RAISE EXCEPTION 'cosine is %: expected a number from -1 to 1', cosine
            USING ERRCODE = '22023', HINT = 'Use NULL where the vector did not find it.';
    END IF;
    RETURN coalesce(cosine, 0) + coalesce(1 / (1 + depth)::double precision, 0);
END;
$function$;
