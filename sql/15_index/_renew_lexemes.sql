-- _renew_lexemes: make the lexemes of a collection's chunks anew from their texts, where the rules
-- of words or dictionaries are others by now; 1 where chunks are left after this block, else 0.
-- A block is 2,000 ids, the first is 0, so that each may be a transaction of its own. Segments and
-- vocabulary keep the words from before until lexical_rebuild. Chunks whose text search
-- configuration is not there any more stay as they are.
CREATE OR REPLACE FUNCTION pgblend._renew_lexemes(collection text, block bigint)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._writable_collection(collection);
BEGIN
    UPDATE pgblend_data.chunk AS c
    SET lexemes = ''
    FROM (
        SELECT o.id
        FROM pgblend_data.chunk AS o
        WHERE o.id BETWEEN block * 2000 AND block * 2000 + 1999 AND o.collection_id = target.id
            AND pgblend._regconfig(o.text_search_config) IS NOT NULL
        ORDER BY o.id
        FOR NO KEY UPDATE
    ) AS n
    WHERE c.id = n.id;
    RETURN EXISTS (
        SELECT FROM pgblend_data.chunk AS c
        WHERE c.id >= (block + 1) * 2000 AND c.collection_id = target.id)::integer;
END;
$function$;
