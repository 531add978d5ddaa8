-- _collection_add_locks: trigger that makes the rows that stand for a new collection's locks.
-- Runs with its owner's rights: nobody else adds or deletes them.
CREATE OR REPLACE FUNCTION pgblend._collection_add_locks()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    INSERT INTO pgblend_data.index_claim (collection_id, transaction_id) VALUES (new.id, '0');
    INSERT INTO pgblend_data.vocabulary_lock (collection_id) VALUES (new.id);
    RETURN NULL;
END;
$function$;
