-- _join_conditions: conditions joined into one, all of which must hold, or any of them.
-- Neighbours are joined in pairs, again and again. One after the other, each would copy all before
-- it, and the tree would be as deep as there are conditions. No conditions give NULL.
CREATE OR REPLACE FUNCTION pgblend._join_conditions(conditions tsquery[], of_any boolean)
RETURNS tsquery
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    WHILE cardinality(conditions) > 1 LOOP
        conditions := ARRAY(
            SELECT CASE
                WHEN cardinality(p.pair) = 1 THEN p.pair[1]
                WHEN of_any THEN p.pair[1] || p.pair[2]
                ELSE p.pair[1] && p.pair[2] END
            FROM (
                SELECT (c.place - 1) / 2 AS number, array_agg(c.part ORDER BY c.place) AS pair
                FROM unnest(conditions) WITH ORDINALITY AS c (part, place)
                GROUP BY (c.place - 1) / 2
            ) AS p
            ORDER BY p.number);
    END LOOP;
    RETURN conditions[1];
END;
$function$;

-- _query_condition: what must hold of a passage, from the operands that _parse_query gives.
-- An alternative holds where all of its operands do, or do not where they are excluded. No operands
-- give NULL.
CREATE OR REPLACE FUNCTION pgblend._query_condition(
    alternatives integer[],
    operands tsquery[],
    exclusions boolean[]
)
RETURNS tsquery
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT pgblend._join_conditions(array_agg(a.condition ORDER BY a.number), true)
    FROM (
        SELECT
            o.number,
            pgblend._join_conditions(
                array_agg(
                    CASE WHEN o.is_excluded THEN tsquery_not(o.operand) ELSE o.operand END
                ), false
            ) AS condition
        FROM unnest(alternatives, operands, exclusions) AS o (number, operand, is_excluded)
        GROUP BY o.number
    ) AS a;
END;
