-- _rebuild_collection: make a collection's segments anew; returns how many chunks they hold.
-- Readers see the old ones until the transaction commits. Where somebody else seals, it is an
-- error. What is pending is sealed as well, from the tsvectors, whatever pending says; chunks that
-- another transaction is deleting stay there.
CREATE OR REPLACE FUNCTION pgblend._rebuild_collection(collection_id bigint)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    total bigint;
BEGIN
    PERFORM pgblend._lock_segments(_rebuild_collection.collection_id);
    PERFORM pgblend._drop_segments(_rebuild_collection.collection_id);
    PERFORM pgblend._drop_pending(_rebuild_collection.collection_id, NULL);
    PERFORM pgblend._rebuild_vocabulary(_rebuild_collection.collection_id);
    SELECT coalesce(sum(pgblend._seal_missing(l.collection_id, l.text_search_config, '{}')), 0)
    INTO total
    FROM pgblend_data.collection_language AS l
    WHERE l.collection_id = _rebuild_collection.collection_id;
    RETURN total + pgblend._seal_collection(_rebuild_collection.collection_id, 1);
END;
$function$;
