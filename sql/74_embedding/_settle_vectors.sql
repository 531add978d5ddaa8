-- _settle_vectors: have the passages of an attachment wait for a vector, or not, as it says now.
-- old is the attachment that it takes the place of; NULLs where there was none. What waits of a
-- table whose rows have vectors, waits no more. The vectors of another space than before go.
-- Where searches use another space, those of this collection alone use its own.
CREATE OR REPLACE FUNCTION pgblend._settle_vectors(
    attached pgblend_data.attached_table,
    old pgblend_data.attached_table
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection;
    is_active boolean;
BEGIN
    IF attached.space IS NULL AND old.space IS NULL THEN
        RETURN;
    END IF;
    IF old.space <> coalesce(attached.space, '') THEN
        -- Calls in text: none (a space's table).
        EXECUTE format(
            'DELETE FROM pgblend_data.%I AS e WHERE e.collection_id = $1',
            (pgblend._named_space(old.space)).table_name)
        USING attached.collection_id;
    END IF;
    DELETE FROM pgblend_data.embedding_queue AS q
    WHERE q.collection_id = attached.collection_id
        AND (attached.space IS NOT NULL OR q.space = old.space);
    PERFORM pgblend._queue_missing(s, attached.collection_id)
    FROM pgblend_data.embedding_space AS s
    WHERE s.asks_model
        AND pgblend._first_embedded(s, attached.collection_id) IS NOT NULL;
    PERFORM pgblend._wake_workers();
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = attached.collection_id;
    SELECT s.active INTO is_active
    FROM pgblend_data.embedding_space AS s WHERE s.name = attached.space;
    IF NOT is_active AND NOT target.settings ? 'space' THEN
        PERFORM blend.set_collection_settings(
            target.name, jsonb_build_object('space', attached.space));
        RAISE NOTICE 'searches use another embedding space than %, whose vectors these are',
            attached.space
            USING HINT = format('Searches of the collection "%s" alone use it (its setting space). '
                'To search by it everywhere: SELECT switch_embedding_space(%L)',
                target.name, attached.space);
    ELSIF target.settings ->> 'space' = old.space
        AND old.space IS DISTINCT FROM attached.space
    THEN
        PERFORM blend.set_collection_settings(target.name, '{"space": null}');
    END IF;
END;
$function$;
