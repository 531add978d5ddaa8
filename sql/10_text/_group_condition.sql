-- _group_condition: what must hold of a passage for one alternative of a query, NULL for nothing.
-- All of its phrases and none of its exclusions; with `one_of_many`, an alternative without phrases
-- also asks for any of its words. Phrases of stop words ask for nothing (and raise no NOTICE).
CREATE OR REPLACE FUNCTION pgblend._group_condition(
    config regconfig,
    query_group jsonb,
    one_of_many boolean
)
RETURNS tsquery
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET client_min_messages = warning
AS $function$
DECLARE
    condition tsquery := '';
    operand text;
BEGIN
    FOR operand IN SELECT p.value FROM jsonb_array_elements_text(query_group -> 'phrases') AS p LOOP
        condition := condition && phraseto_tsquery(config, pgblend._indexable_text(operand));
    END LOOP;
    IF one_of_many AND numnode(condition) = 0 THEN
        condition := coalesce(pgblend._lexeme_tsquery(tsvector_to_array(to_tsvector(config, (
            SELECT pgblend._indexable_text(string_agg(w.value, ' '))
            FROM jsonb_array_elements_text(query_group -> 'words') AS w)))), '');
    END IF;
    FOR operand IN SELECT e.value FROM jsonb_array_elements_text(query_group -> 'excluded') AS e LOOP
        condition := condition && !!phraseto_tsquery(config, pgblend._indexable_text(operand));
    END LOOP;
    RETURN CASE WHEN numnode(condition) > 0 THEN condition END;
END;
$function$;

COMMENT ON FUNCTION pgblend._group_condition(regconfig, jsonb, boolean) IS
'What must hold of a passage for one alternative of a query: phrases, exclusions, words.';
