-- _attachment_collection: the wanted attachment with its collection, which is made where there is
-- none.
-- An attachment that there was keeps its own. Another's documents in the collection, or another
-- table, are errors: keys of both could be the same.
CREATE OR REPLACE FUNCTION pgblend._attachment_collection(
    wanted pgblend_data.attached_table,
    old pgblend_data.attached_table,
    collection text
)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    collection_name text := coalesce(collection, (
        SELECT c.relname FROM pg_catalog.pg_class AS c WHERE c.oid = wanted.relation));
    target pgblend_data.collection;
BEGIN
    IF old.id IS NOT NULL THEN
        SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
        WHERE c.id = old.collection_id;
        IF target.name <> coalesce(collection, target.name) THEN
            RAISE EXCEPTION '% is attached to the collection "%"', wanted.relation, target.name
                USING ERRCODE = '55000', HINT = 'Detach it first: blend.detach_table(…)';
        END IF;
        wanted.collection_id := target.id;
        wanted.made_collection := old.made_collection;
        RETURN wanted;
    END IF;
    SELECT c.* INTO target FROM pgblend_data.collection AS c WHERE c.name = collection_name FOR UPDATE;
    wanted.made_collection := NOT FOUND;
    wanted.collection_id := coalesce(target.id, blend.add_collection(collection_name));
    IF EXISTS (
        SELECT FROM pgblend_data.document AS d WHERE d.collection_id = wanted.collection_id
        UNION ALL
        SELECT FROM pgblend_data.attached_table AS a
        WHERE a.collection_id = wanted.collection_id)
    THEN
        RAISE EXCEPTION 'the collection "%" is not empty: expected one for this table alone', collection_name
            USING ERRCODE = '55000', HINT = 'Name another one: collection => …';
    END IF;
    -- By hand, since two writers that were the first with it would wait for each other.
    INSERT INTO pgblend_data.collection_language (collection_id, text_search_config)
    SELECT c.id, c.text_search_config
    FROM pgblend_data.collection AS c
    WHERE c.id = wanted.collection_id
    ON CONFLICT DO NOTHING;
    RETURN wanted;
END;
$function$;
