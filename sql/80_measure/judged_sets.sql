-- add_judged_set: make a judged set on one collection, or with NULL on all, and return its id.
-- The name is kept composed (Unicode's form NFC), and found however it is typed.
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
    name := normalize(name);
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

-- record_judgement: note how well a document answers a query, and return the query's id.
-- The query is found by its text, else added with its text as key. A grade above 0 means relevant,
-- the higher the better; NULL takes a judgement back. A grade beyond -1000 to 1000, a blank query
-- and a document that the set's collection lacks are errors. A judgement made again replaces the
-- old one. Where several collections have a set of the name, collection says which.
CREATE OR REPLACE FUNCTION blend.record_judgement(
    judged_set text,
    query text,
    source_key text,
    grade integer,
    collection text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target record := pgblend._writable_judged_set(judged_set, collection);
    judged_id bigint;
    found_id bigint := pgblend._document_id(
        CASE WHEN target.collection_id IS NOT NULL THEN ARRAY[target.collection_id] END,
        source_key);
BEGIN
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' THEN
        RAISE EXCEPTION 'query is %: expected a text',
            coalesce(quote_literal(left(query, 100)), 'NULL')
            USING ERRCODE = '22023', HINT = 'Give the query as it was searched.';
    ELSIF grade NOT BETWEEN -1000 AND 1000 THEN
        RAISE EXCEPTION 'grade is %: expected a whole number from -1000 to 1000', grade
            USING ERRCODE = '22023', HINT = 'Above 0 is relevant: 1 is usual, 2 is better.';
    ELSIF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no document % for judged set "%"',
            coalesce(quote_literal(left(source_key, 200)), 'NULL'), target.name
            USING ERRCODE = '22023', HINT = 'SELECT collection, source_key FROM blend.documents';
    END IF;
    record_judgement.source_key := (
        SELECT f.source_key FROM pgblend._document_facts(found_id) AS f);
    SELECT q.id INTO judged_id FROM pgblend_data.judged_query AS q
    WHERE q.set_id = target.id AND q.query = record_judgement.query
    ORDER BY q.id LIMIT 1;
    IF NOT FOUND THEN
        INSERT INTO pgblend_data.judged_query AS q (set_id, collection_id, key, query)
        VALUES (target.id, target.collection_id, query, query)
        ON CONFLICT ON CONSTRAINT judged_query_set_id_key_key DO UPDATE SET query = excluded.query
        RETURNING q.id INTO judged_id;
    END IF;
    IF grade IS NULL THEN
        DELETE FROM pgblend_data.judgement AS j
        WHERE j.query_id = judged_id AND j.source_key = record_judgement.source_key;
    ELSE
        INSERT INTO pgblend_data.judgement AS j (query_id, collection_id, source_key, grade)
        VALUES (judged_id, target.collection_id, source_key, grade)
        ON CONFLICT ON CONSTRAINT judgement_pkey DO UPDATE
        SET grade = excluded.grade, judged_by = DEFAULT, judged_at = DEFAULT;
    END IF;
    RETURN judged_id;
END;
$function$;

-- remove_judged_set: delete a judged set with its queries, judgements and runs.
-- False where there is none; the documents stay. Where several collections have a set of the name,
-- collection says which; '' is a set on all collections.
CREATE OR REPLACE FUNCTION blend.remove_judged_set(name text, collection text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pgblend_data.judged_set AS s
        LEFT JOIN pgblend_data.collection AS c ON c.id = s.collection_id
        WHERE s.name = normalize(remove_judged_set.name)
            AND coalesce(c.name, '')
                = coalesce(normalize(remove_judged_set.collection), c.name, ''))
    THEN
        RETURN false;
    END IF;
    DELETE FROM pgblend_data.judged_set AS s
    WHERE s.id = (pgblend._writable_judged_set(
        remove_judged_set.name, remove_judged_set.collection)).id;
    RETURN true;
END;
$function$;

-- _writable_judged_set: the judged set of that name and collection (_judged_set); an error where
-- the caller may not write to it.
CREATE OR REPLACE FUNCTION pgblend._writable_judged_set(judged_set text, collection text)
RETURNS pgblend_data.judged_set
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    target pgblend_data.judged_set := pgblend._judged_set(judged_set, collection);
BEGIN
    IF NOT pgblend._may_write(target.collection_id) THEN
        RAISE EXCEPTION '% may not write to judged set "%"', current_user, target.name
            USING ERRCODE = '42501',
            HINT = 'Who may write to its collection may: grant_collection(collection, role, '
                '''write'').';
    END IF;
    RETURN target;
END;
$function$;

-- _judged_set: the judged set of that name, on that collection (NULL: on whichever has one, '': on
-- all collections); an error where the caller sees none or several.
-- Names are a collection's own, so that nobody takes another's.
CREATE OR REPLACE FUNCTION pgblend._judged_set(judged_set text, collection text)
RETURNS pgblend_data.judged_set
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found pgblend_data.judged_set[] := ARRAY(
        SELECT s FROM pgblend_data.judged_set AS s
        LEFT JOIN pgblend_data.collection AS c ON c.id = s.collection_id
        WHERE s.name = normalize(judged_set)
            AND coalesce(c.name, '') = coalesce(normalize(collection), c.name, ''));
BEGIN
    IF cardinality(found) > 1 THEN
        RAISE EXCEPTION 'judged set "%" is of several collections: %', left(judged_set, 200), (
            SELECT string_agg(coalesce(c.name, 'all'), ', ' ORDER BY c.name)
            FROM unnest(found) AS f LEFT JOIN pgblend_data.collection AS c ON c.id = f.collection_id)
            USING ERRCODE = '42725',
            HINT = 'Name the collection as well: collection => …, on the command line '
                '--collection; '''' is a set on all collections.';
    ELSIF cardinality(found) = 0 THEN
        RAISE EXCEPTION 'there is no judged set % that % may read',
            coalesce('"' || left(judged_set, 200) || '"', 'NULL')
                || coalesce(' on collection "' || left(collection, 200) || '"', ''),
            current_user
            USING ERRCODE = '42704',
            HINT = 'SELECT name, collection FROM blend.judged_sets; pgblend eval import makes one.';
    END IF;
    RETURN found[1];
END;
$function$;

-- _known_documents: documents of a collection that have one of these ids, or one of these keys.
-- Those that the caller may not read are left out.
CREATE OR REPLACE FUNCTION pgblend._known_documents(
    collection_id bigint,
    document_ids bigint[],
    source_keys text[]
)
RETURNS TABLE (document_id bigint, source_key text)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 100
BEGIN ATOMIC
    SELECT
        d.id,
        d.source_key
    FROM pgblend_data.document AS d
    WHERE d.id = ANY(document_ids) AND d.collection_id = _known_documents.collection_id
    UNION
    SELECT
        k.id,
        k.source_key
    FROM pgblend_data.document AS k
    WHERE k.collection_id = _known_documents.collection_id AND k.source_key = ANY(source_keys);
END;
