-- _group_condition: what must hold of a passage for one alternative of a query, as one tsquery;
-- NULL for nothing (see _group_operands).
CREATE OR REPLACE FUNCTION pgblend._group_condition(
    config regconfig,
    query_group jsonb,
    one_of_many boolean
)
RETURNS tsquery
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN pgblend._join_conditions(
        ARRAY(
            SELECT CASE WHEN o.excluded THEN !!o.operand ELSE o.operand END
            FROM pgblend._group_operands(config, query_group, one_of_many) AS o),
        false);
END;
$function$;
