-- _documents_decide: whether a filter can be checked on documents alone, without their chunks.
-- on_document and keys are those of _filter_condition. They decide where the condition does not
-- look at chunks. Either it looks at no metadata, or no chunk of the collections has any of its
-- own.
CREATE OR REPLACE FUNCTION pgblend._documents_decide(
    on_document text,
    keys text[],
    collection_ids bigint[]
)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN on_document !~ '\mc\.' AND (
    keys = '{}' OR NOT EXISTS (
        SELECT FROM pgblend_data.chunk AS c
        WHERE c.collection_id = ANY(collection_ids) AND c.metadata <> '{}'
    )
);
