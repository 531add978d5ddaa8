-- _any_passage: one of the passages that the caller may read, and how it begins; no row for none.
CREATE OR REPLACE FUNCTION pgblend._any_passage()
RETURNS TABLE (chunk_id bigint, words text)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY SELECT c.id, left(c.content, 200) FROM pgblend_data.chunk AS c LIMIT 1;
END;
$function$;
