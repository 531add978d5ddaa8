-- index_embedding_space: make the HNSW index of an embedding space, or with false drop it; returns
-- whether that was to be done.
-- Many vectors are stored several times faster without it, and then indexed at once, in parallel
-- where max_parallel_maintenance_workers and maintenance_work_mem allow. Until then searches
-- compare all vectors: exact, and slower with each. Writers of vectors wait while it is made. An
-- unknown space is an error. NULL for indexed means true. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.index_embedding_space(name text, indexed boolean DEFAULT true)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._index_space(name, coalesce(indexed, true));
END;
$function$;
