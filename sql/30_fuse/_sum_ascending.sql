-- _sum_ascending: the sum of numbers, added from the smallest, so that their order changes no bit.
-- NULL and no numbers give 0.
CREATE OR REPLACE FUNCTION pgblend._sum_ascending(terms double precision[])
RETURNS double precision
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
    total double precision := 0;
    term double precision;
BEGIN
    IF cardinality(terms) > 2 THEN
        terms := ARRAY(SELECT t FROM unnest(terms) AS t ORDER BY t);
    END IF;
    FOREACH term IN ARRAY coalesce(terms, '{}') LOOP
        total := total + term;
    END LOOP;
    RETURN total;
END;
$function$;
