-- _context_document: a context as one JSON document: parts, statistics, and the text for a model.
-- `request` and the result are described in plpy/context/render.py. Where one who reads cannot
-- see a passage, the caller has left it out.
CREATE OR REPLACE FUNCTION pgblend._context_document(request json)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.context.render import context_document

return json.dumps(context_document(json.loads(request)))
$python$;

-- _context_of: a context made of the rows of a search.
-- A search without rows gives no parts.
CREATE OR REPLACE FUNCTION pgblend._context_of(
    query text,
    passages blend.search_result[],
    settings jsonb,
    output_format text
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    request json := json_build_object(
        'query', coalesce(query, ''),
        'format', output_format,
        'settings', settings,
        'hits', (
            SELECT coalesce(json_agg(json_build_object(
                'chunk_id', r.chunk_id, 'score', r.score, 'relevance', r.relevance, 'arms', r.arms,
                'document_id', r.document_id, 'collection', r.collection, 'uri', r.uri,
                'title', r.title, 'source_key', r.source_key) ORDER BY r.rank), '[]')
            FROM unnest(passages) AS r),
        'chunks', pgblend._chunks_around(
            ARRAY(SELECT r.chunk_id FROM unnest(passages) AS r), settings));
BEGIN
    RETURN pgblend._context_document(request);
END;
$function$;
