-- _has_summaries: whether the setting summaries is in force for a collection.
-- Reads that setting alone: it is asked for each document that is written.
CREATE OR REPLACE FUNCTION pgblend._has_summaries(collection_id bigint)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN coalesce(
        (SELECT c.settings -> 'summaries' FROM pgblend_data.collection AS c
            WHERE c.id = collection_id),
        (SELECT s.value FROM pgblend_data.setting AS s WHERE s.name = 'summaries'),
        'false')::boolean;
END;
$function$;
