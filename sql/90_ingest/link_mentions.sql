-- link_mentions: make edges of type mentions from each document whose text names another one of its
-- collection, by title or alias, to that one; returns how many.
-- Names are compared without case and punctuation, "(film)" at their end may be missing, and the
-- longest counts. A name of fewer than three letters, of more than five documents, or mentioned by
-- more than max(10, 1 %) of them, is none. All texts are read anew, since a new title may be in any
-- of them, but only edges that come or go are written; they hang on their passages, so a changed
-- text takes its own along.
CREATE OR REPLACE FUNCTION blend.link_mentions(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN pgblend._link_mentions((pgblend._writable_collection(collection)).id);
END;
$function$;
