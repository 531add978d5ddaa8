-- _failed_conditions: those conditions of a filter that none of some chunks passes, as text.
-- All entries of a filter must hold, and so must all of "and": each is tried alone. Where each has
-- chunks that pass it, but no chunk passes all, the filter fails as a whole. Empty where a chunk
-- passes, and for a NULL filter.
CREATE OR REPLACE FUNCTION pgblend._failed_conditions(chunk_ids bigint[], filter jsonb)
RETURNS text[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    failed text[] := '{}';
    part jsonb;
BEGIN
    IF filter IS NULL OR cardinality(pgblend._filter_candidates(chunk_ids, filter)) > 0 THEN
        RETURN failed;
    END IF;
    FOR part IN
        SELECT jsonb_build_object(e.key, e.value) FROM jsonb_each(filter) AS e
        WHERE e.key <> 'and'
        UNION ALL
        SELECT a.value FROM jsonb_array_elements(
            CASE jsonb_typeof(filter -> 'and') WHEN 'array' THEN filter -> 'and' END) AS a
    LOOP
        IF jsonb_typeof(part -> 'and') IS NOT NULL
            OR (SELECT count(*) FROM jsonb_object_keys(part)) > 1
        THEN
            failed := failed || pgblend._failed_conditions(chunk_ids, part);
        ELSIF cardinality(pgblend._filter_candidates(chunk_ids, part)) = 0 THEN
            failed := failed || part::text;
        END IF;
    END LOOP;
    RETURN CASE WHEN failed = '{}' THEN ARRAY[filter::text] ELSE failed END;
END;
$function$;
