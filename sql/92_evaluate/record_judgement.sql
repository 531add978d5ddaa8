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
    target pgblend_data.judged_set := pgblend._writable_judged_set(judged_set, collection);
    judged_id bigint;
BEGIN
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' THEN
        RAISE EXCEPTION 'query is %: expected a text',
            coalesce(quote_literal(left(query, 100)), 'NULL')
            USING ERRCODE = '22023', HINT = 'Give the query as it was searched.';
    ELSIF grade NOT BETWEEN -1000 AND 1000 THEN
        RAISE EXCEPTION 'grade is %: expected a whole number from -1000 to 1000', grade
            USING ERRCODE = '22023', HINT = 'Above 0 is relevant: 1 is usual, 2 is better.';
    ELSIF pgblend._document_id(target.collection_id, source_key) IS NULL THEN
        RAISE EXCEPTION 'there is no document % for judged set "%"',
            coalesce(quote_literal(left(source_key, 200)), 'NULL'), target.name
            USING ERRCODE = '22023', HINT = 'SELECT collection, source_key FROM blend.documents';
    END IF;
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
