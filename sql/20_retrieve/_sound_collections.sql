-- _sound_collections: those of some collections whose lexical index is not known as damaged: their
-- names are in the setting `damaged`, which a search makes for itself; all where it is NULL.
CREATE OR REPLACE FUNCTION pgblend._sound_collections(collection_ids bigint[], damaged jsonb)
RETURNS bigint[]
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}')
    FROM pgblend_data.collection AS c
    WHERE c.id = ANY(collection_ids) AND NOT coalesce(damaged ? c.name, false);
END;
