-- _document_markers: what tells that anything of a document changed, for those of some buckets, by
-- their numbers.
-- A marker is a digest of the versions of all rows that a move copies. Only a superuser calls it.
CREATE OR REPLACE FUNCTION pgblend._document_markers(buckets smallint[])
RETURNS TABLE (document_id bigint, marker bigint)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: none (tables of spaces).
    RETURN QUERY EXECUTE 'SELECT d.id, hashtextextended(concat_ws('';'', d.xmin,
        (SELECT string_agg(concat_ws('' '', c.id, c.xmin), '','' ORDER BY c.id)
            FROM pgblend_data.chunk AS c WHERE c.document_id = d.id),
        (SELECT string_agg(concat_ws('' '', l.id, l.kind, l.target, l.weight), '','' ORDER BY l.id)
            FROM pgblend_data.link AS l WHERE l.document_id = d.id),
        (SELECT string_agg(concat_ws('' '', q.space, q.chunk_id, q.attempts, q.dead_at), '',''
                ORDER BY q.space, q.chunk_id)
            FROM pgblend_data.embedding_queue AS q
            INNER JOIN pgblend_data.chunk AS c ON c.id = q.chunk_id
            WHERE c.document_id = d.id),
        (SELECT string_agg(concat_ws('' '', r.constraint_name, r.target_columns, r.target_key),
                '','' ORDER BY r.constraint_name)
            FROM pgblend_data.key_reference AS r WHERE r.document_id = d.id),
        (SELECT s.xmin::text FROM pgblend_data.document_summary AS s WHERE s.document_id = d.id)'
    || coalesce((
        SELECT string_agg(format(',
        (SELECT string_agg(concat_ws('' '', e.chunk_id, e.xmin), '','' ORDER BY e.chunk_id)
            FROM pgblend_data.chunk AS c
            INNER JOIN pgblend_data.%I AS e ON e.chunk_id = c.id
            WHERE c.document_id = d.id)', s.table_name), '' ORDER BY s.name)
        FROM pgblend_data.embedding_space AS s), '')
    || '), 0) FROM pgblend_data.document AS d WHERE d.bucket = ANY($1) ORDER BY d.id'
    USING buckets;
END;
$function$;
