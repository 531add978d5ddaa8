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
