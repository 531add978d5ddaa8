-- _link_mentions: link_mentions of a collection that the caller may write to.
-- All texts are read anew, since a new title may be in any of them, but only edges that come or go
-- are written.
CREATE OR REPLACE FUNCTION pgblend._link_mentions(collection_id bigint)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.graph.mention_store import TEXTS, link_mentions

texts = plpy.cursor(plpy.prepare(TEXTS, ["bigint"]), [collection_id])
return link_mentions(db, collection_id, texts)
$python$;

-- link_mentions: make edges of type mentions to documents that a text of their collection names, by
-- title or alias; returns how many.
-- Names are compared without case and punctuation, "(film)" at their end may be missing, and the
-- longest counts. A name counts for nothing where it has fewer than three letters, is of more than
-- five documents, or is mentioned by more than max(10, 1 %) of them. All texts are read anew, since
-- a new title may be in any of them. Only edges that come or go are written. They belong to
-- passages, and go when a text is replaced. On a coordinator of shards they join documents of any.
CREATE OR REPLACE FUNCTION blend.link_mentions(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._link_mentions((pgblend._writable_collection(collection)).id);
END;
$function$;
