-- _filter_candidates: those of some chunks that pass a filter, in the order given.
-- A NULL filter lets all pass; chunks that are not there, or not visible, do not.
CREATE OR REPLACE FUNCTION pgblend._filter_candidates(chunk_ids bigint[], filter jsonb)
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    compiled record;
    passing bigint[];
BEGIN
    SELECT f.* INTO compiled FROM pgblend._filter_condition(filter, 2) AS f;
    -- Calls in text: _iso_timestamp (a filter's conditions).
    EXECUTE format(
        'SELECT coalesce(array_agg(c.id ORDER BY u.place), ''{}'')
        FROM unnest($1) WITH ORDINALITY AS u (chunk_id, place)
        INNER JOIN pgblend_data.chunk AS c ON c.id = u.chunk_id
        INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
        WHERE %s', coalesce(compiled.on_chunk, 'true'))
    INTO passing USING chunk_ids, compiled.operands;
    RETURN passing;
END;
$function$;
