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
BEGIN
    RETURN QUERY
    SELECT s.model, s.dimensions, cardinality(g.given), CASE
        WHEN cardinality(s.probe) = cardinality(pgblend._probe_start(g.given))
            THEN 1 - (s.probe::vector <=> pgblend._probe_start(g.given)::vector) END
    FROM pgblend_data.embedding_space AS s
    CROSS JOIN LATERAL (
        SELECT pgblend._probe_model(s.model, 60000, s.asked_dimensions) AS given OFFSET 0) AS g
    WHERE s.name = space;
END;
$function$;
