-- _vectors_may_answer: whether vectors may stand in for a query whose words are nowhere.
-- Not where there are none, nor for a query with phrases or exclusions: those must hold, and
-- vectors know nothing of them.
CREATE OR REPLACE FUNCTION pgblend._vectors_may_answer(
    query text,
    collection_ids bigint[],
    space text
)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    searched pgblend_data.embedding_space := pgblend._searched_space(space);
BEGIN
    RETURN searched.name IS NOT NULL
        AND pgblend._has_vectors(searched, collection_ids)
        AND NOT EXISTS (SELECT FROM pgblend._binding_conditions(query, collection_ids));
END;
$function$;
