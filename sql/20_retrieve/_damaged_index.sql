-- _damaged_index: raise PB002: what the lexical index holds cannot be read; it names the collection
-- and how to mend it.
-- `source` is segment or pending, id that of the segment, or of the pending chunk. The error's
-- table name is the collection's, for those who go on without it.
CREATE OR REPLACE FUNCTION pgblend._damaged_index(source text, id bigint, reason text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    damaged text;
BEGIN
    SELECT c.name INTO damaged
    FROM pgblend_data.collection AS c
    WHERE c.id IN (
        SELECT s.collection_id FROM pgblend_data.segment AS s
        WHERE source = 'segment' AND s.id = _damaged_index.id
        UNION ALL
        SELECT p.collection_id FROM pgblend_data.pending AS p
        WHERE source = 'pending' AND p.chunk_id = _damaged_index.id);
    RAISE EXCEPTION 'the lexical index of collection "%" is damaged: % %: %',
        damaged, source, id, reason
        USING ERRCODE = 'PB002', TABLE = damaged,
        HINT = format('Make it anew: SELECT lexical_rebuild(%L)', damaged);
END;
$function$;
