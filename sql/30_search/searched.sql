-- _searched_collections: ids of the collections to search: those named, or all that the caller may
-- read.
-- A name that is not there, or that the caller may not read, is an error (the two cannot be told
-- apart).
CREATE OR REPLACE FUNCTION pgblend._searched_collections(collections text[])
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    ids bigint[];
    missing text;
BEGIN
    PERFORM pgblend._check_size('collections', cardinality(collections), 'items', 'array_items');
    SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO ids
    FROM pgblend_data.collection AS c
    WHERE collections IS NULL OR c.name = ANY(ARRAY(SELECT normalize(n) FROM unnest(collections) AS n));
    SELECT wanted INTO missing
    FROM unnest(collections) AS wanted
    WHERE NOT EXISTS (SELECT FROM pgblend_data.collection AS c WHERE c.name = normalize(wanted))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'there is no collection "%" that % may read',
            coalesce(left(missing, 200), 'NULL'), current_user
            USING ERRCODE = '42704', HINT = 'SELECT name FROM blend.collections';
    END IF;
    RETURN ids;
END;
$function$;

-- _used_languages: the text search configurations of collections' documents.
CREATE OR REPLACE FUNCTION pgblend._used_languages(collection_ids bigint[])
RETURNS TABLE (collection_id bigint, language text)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 2
BEGIN ATOMIC
    SELECT DISTINCT
        l.collection_id,
        l.text_search_config
    FROM pgblend_data.collection_language AS l
    WHERE l.collection_id = ANY(collection_ids);
END;

-- _collection_sizes: how many documents and chunks collections have that the caller may read.
-- One without documents has no row.
CREATE OR REPLACE FUNCTION pgblend._collection_sizes(collection_ids bigint[])
RETURNS TABLE (collection_id bigint, documents bigint, chunks bigint)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 10
BEGIN ATOMIC
    SELECT
        d.collection_id,
        d.documents,
        (
            SELECT count(*) FROM pgblend_data.chunk AS c
            WHERE c.collection_id = d.collection_id
        ) AS chunks
    FROM (
        SELECT
            o.collection_id,
            count(*) AS documents
        FROM pgblend_data.document AS o
        WHERE o.collection_id = ANY(collection_ids)
        GROUP BY o.collection_id
    ) AS d;
END;

-- _search_plan: the search settings in force for a call, and as "stages" which of expand, embed
-- and rerank run, for those who ask the models themselves.
-- Errors are those of hybrid_search.
CREATE OR REPLACE FUNCTION pgblend._search_plan(options jsonb, profile text, collections text[])
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.search.plan import told_plan
from pgblend.plpy.search.plan import read_state

return db.answer(lambda db: told_plan(db, read_state(db, profile, collections), options))
$python$;
