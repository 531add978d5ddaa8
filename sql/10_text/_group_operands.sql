-- _group_operands: what must hold of a passage for one alternative of a query, one row each: its
-- phrases, and what it excludes.
-- With `one_of_many`, an alternative without phrases also asks for any of its words. Phrases of
-- stop words ask for nothing (and raise no NOTICE).
CREATE OR REPLACE FUNCTION pgblend._group_operands(
    config regconfig,
    query_group jsonb,
    one_of_many boolean
)
RETURNS TABLE (operand tsquery, excluded boolean)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 2
SET client_min_messages = warning
AS $function$
DECLARE
    asks boolean := false;
BEGIN
    excluded := false;
    FOR operand IN
        SELECT phraseto_tsquery(config, pgblend._indexable_text(p.value))
        FROM jsonb_array_elements_text(query_group -> 'phrases') AS p
    LOOP
        CONTINUE WHEN numnode(operand) = 0;
        asks := true;
        RETURN NEXT;
    END LOOP;
    IF one_of_many AND NOT asks THEN
        operand := pgblend._lexeme_tsquery(tsvector_to_array(to_tsvector(config, (
            SELECT pgblend._indexable_text(string_agg(w.value, ' '))
            FROM jsonb_array_elements_text(query_group -> 'words') AS w))));
        IF operand IS NOT NULL THEN
            RETURN NEXT;
        END IF;
    END IF;
    excluded := true;
    FOR operand IN
        SELECT phraseto_tsquery(config, pgblend._indexable_text(e.value))
        FROM jsonb_array_elements_text(query_group -> 'excluded') AS e
    LOOP
        CONTINUE WHEN numnode(operand) = 0;
        RETURN NEXT;
    END LOOP;
END;
$function$;
