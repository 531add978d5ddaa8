-- _group_condition: what must hold of a passage for one alternative of a query, as one tsquery;
-- NULL for nothing (see _group_operands).
CREATE OR REPLACE FUNCTION pgblend._group_condition(
    config regconfig,
    query_group jsonb,
    one_of_many boolean
)
RETURNS tsquery
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    condition tsquery := '';
    part record;
BEGIN
    FOR part IN SELECT * FROM pgblend._group_operands(config, query_group, one_of_many) LOOP
        condition := condition && CASE WHEN part.excluded THEN !!part.operand ELSE part.operand END;
    END LOOP;
    RETURN CASE WHEN numnode(condition) > 0 THEN condition END;
END;
$function$;

COMMENT ON FUNCTION pgblend._group_condition(regconfig, jsonb, boolean) IS
'What must hold of a passage for one alternative of a query: phrases, exclusions, words.';
