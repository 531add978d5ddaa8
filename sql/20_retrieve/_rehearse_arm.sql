-- _rehearse_arm: call on nothing what an arm that searches by words is made of, so that the session
-- has it compiled.
-- `routines`: chunk (BM25 over several text search configurations), document (of whole documents)
-- or fuzzy. Two lexemes, so that what compares languages runs as well.
CREATE OR REPLACE FUNCTION pgblend._rehearse_arm(routines text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    PERFORM pgblend._query_idf(
        '{}', '{english,simple}', '{a,b}', routines = 'document', 'infinity', NULL);
    IF routines = 'document' THEN
        PERFORM pgblend._document_candidates(
            '', '{}', 'simple', '{}', '{}', 1, 1, 1, '{1,1,1}', NULL, 1, 'infinity', NULL);
        RETURN;
    END IF;
    PERFORM pgblend._lexical_score(
        '{}', 'simple', '{}', NULL, '{}', 1, 1, 1, '{1,1,1}', NULL, 1, 'infinity', NULL);
    IF routines = 'fuzzy' THEN
        PERFORM pgblend._similar_lexemes('{}', 'simple', '{word}', '{word}', NULL);
    END IF;
END;
$function$;
