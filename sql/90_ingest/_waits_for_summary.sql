-- _waits_for_summary: the collections whose chunks are embedded with a summary that a model makes.
-- Their chunks wait for it once: a model that failed for a document holds nothing up. Without a
-- model (setting summary_model) none waits.
CREATE OR REPLACE FUNCTION pgblend._waits_for_summary()
RETURNS bigint[]
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(array_agg(c.id), '{}')
    FROM pgblend_data.collection AS c
    CROSS JOIN LATERAL pgblend._collection_settings(c.settings) AS s (settings)
    WHERE
        s.settings ->> 'embedding_prefix' = 'summary'
        AND (s.settings ->> 'summaries')::boolean
        AND blend.get_setting('summary_model') <> 'null';
END;
