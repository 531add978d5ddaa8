-- _check_filter: raise unless a filter is NULL or of the filter language, which the comment below
-- spells out.
CREATE OR REPLACE FUNCTION pgblend._check_filter(filter jsonb)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    problem text;
    problem_hint text;
BEGIN
    PERFORM pgblend._check_size(
        'filter', octet_length(filter::text), 'bytes', 'filter_bytes');
    SELECT f.problem, f.hint INTO problem, problem_hint
    FROM pgblend._filter_condition(filter, 1) AS f;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION '%', problem USING ERRCODE = '22023', HINT = problem_hint;
    END IF;
END;
$function$;

COMMENT ON FUNCTION pgblend._check_filter(jsonb) IS
'Raise 22023 unless a filter is NULL or an object of the filter language. All its entries must '
'hold: {"key": value} (eq), {"key": {operator: value, …}}, {"and": […]}, {"or": […]}, '
'{"not": {…}}. Operators: eq (the value, or an array that has it), ne, in (the same for one of '
'several), lt, lte, gt, gte, exists (true or false), contains (an array, not a single value, that '
'has the value or all of several; a field of text that has the string, or all of several, in it, '
'case counting), prefix (a string). A key is one of the metadata, the '
'passage''s over the document''s; a.b is the key of that name, else b within a; "$metadata.and" is '
'the key "and". Fields: $collection, $source_key, $uri, $title, $language, $kind, $media_type; '
'$modified_at, $ingested_at, $date (modified_at, else the document''s metadata key date, else '
'ingested_at); $document_id, $chunk_id. Missing and null are the same: only ne, not and '
'{"exists": false} pass. Values of different types are never equal, nor above or below one '
'another; numbers compare as numbers, strings by code point. Where lt, lte, gt, gte are given a '
'date or a timestamp of ISO 8601, points in time are compared, and strings that are none do not '
'pass; without a zone it is UTC, and a date without a time stands for its whole day.';
