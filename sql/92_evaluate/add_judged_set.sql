-- add_judged_set: make a judged set on one collection, or with NULL on all, and return its id.
-- A name that the collection has in use, an empty one and an unknown collection are errors. On all
-- collections: admins only. `embedding_model` names what its queries' vectors are made with, NULL
-- where it brings none.
CREATE OR REPLACE FUNCTION blend.add_judged_set(
    name text,
    collection text DEFAULT NULL,
    description text DEFAULT '',
    embedding_model text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    new_id bigint;
    target_id bigint;
BEGIN
    IF coalesce(name, '') = '' OR btrim(name, E' \t\r\n') <> name OR length(name) > 200 THEN
        RAISE EXCEPTION
            'name of a judged set is %: expected 1 to 200 characters without spaces around them',
            coalesce(quote_literal(left(name, 300)), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: handbook-questions';
    END IF;
    IF collection IS NOT NULL THEN
        target_id := (pgblend._writable_collection(collection)).id;
    ELSIF NOT pg_has_role('pgblend_admin', 'USAGE') THEN
        RAISE EXCEPTION '% may not make a judged set on all collections', current_user
            USING ERRCODE = '42501', HINT = 'Name a collection; members of pgblend_admin may.';
    END IF;
    INSERT INTO pgblend_data.judged_set (name, collection_id, description, embedding_model)
    VALUES (name, target_id, coalesce(description, ''), embedding_model)
    ON CONFLICT ON CONSTRAINT judged_set_name_key DO NOTHING
    RETURNING id INTO new_id;
    IF new_id IS NULL THEN
        RAISE EXCEPTION 'there is a judged set "%" already', name
            USING ERRCODE = '42710',
            HINT = 'SELECT name FROM blend.judged_sets; remove_judged_set(name) deletes one.';
    END IF;
    RETURN new_id;
END;
$function$;
