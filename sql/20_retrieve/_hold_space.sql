-- _hold_space: the embedding space that a search uses (_searched_space), held to the end of the
-- transaction, so that nobody drops it meanwhile.
-- A search looks which space is active once, here. One that was dropped between looking and holding
-- is looked for again; in a transaction that still sees it that is an error (40001).
CREATE OR REPLACE FUNCTION pgblend._hold_space(space text)
RETURNS pgblend_data.embedding_space
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    held pgblend_data.embedding_space;
    last_seen text;
BEGIN
    LOOP
        held := pgblend._searched_space(space);
        IF held.name IS NULL THEN
            RETURN held;
        ELSIF held.name = last_seen THEN
            RAISE EXCEPTION 'embedding space "%" was dropped meanwhile', held.name
                USING ERRCODE = '40001', HINT = 'Search again, in a new transaction.';
        END IF;
        last_seen := held.name;
        BEGIN
            EXECUTE format('LOCK TABLE pgblend_data.%I IN ACCESS SHARE MODE', held.table_name);
            RETURN held;
        EXCEPTION WHEN undefined_table THEN
            CONTINUE;
        END;
    END LOOP;
END;
$function$;
