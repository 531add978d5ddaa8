-- _collection_add_locks: trigger that makes the rows that stand for a new collection's locks.
-- Runs with its owner's rights: nobody else adds or deletes them.
CREATE OR REPLACE FUNCTION pgblend._collection_add_locks()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    INSERT INTO pgblend_data.index_claim (collection_id, transaction_id) VALUES (new.id, '0');
    INSERT INTO pgblend_data.vocabulary_lock (collection_id) VALUES (new.id);
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER collection_30_add_locks AFTER INSERT ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._collection_add_locks();
