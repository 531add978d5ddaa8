-- probe_embedding_space: ask the model of a space for one vector and compare it with the first one.
-- likeness is the cosine of their beginnings: 1 for the same model, NULL where the space was made
-- without asking. An unknown space gives no row; PB008 where the gateway fails. For members of
-- pgblend_admin.
CREATE OR REPLACE FUNCTION blend.probe_embedding_space(space text)
RETURNS TABLE (
    model text,
    expected_dimensions integer,
    dimensions integer,
    likeness double precision
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
COST 100000
AS $function$
DECLARE
    target pgblend_data.embedding_space;
    given real[];
BEGIN
    SELECT s.* INTO target FROM pgblend_data.embedding_space AS s
    WHERE s.name = space;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    given := pgblend._probe_model(target.model, 60000);
    model := target.model;
    expected_dimensions := target.dimensions;
    dimensions := cardinality(given);
    likeness := CASE WHEN cardinality(target.probe) = cardinality(pgblend._probe_start(given))
        THEN 1 - (target.probe::vector <=> pgblend._probe_start(given)::vector) END;
    RETURN NEXT;
END;
$function$;
