-- _passage_metrics: what a page of ten shows more than once.
-- documents@10 counts different documents, duplicates@10 is the share of passages whose text is
-- that of an earlier one; no passages give 0 of both.
CREATE OR REPLACE FUNCTION pgblend._passage_metrics(passages blend.search_result[])
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_build_object(
        'documents@10', count(DISTINCT p.document_id),
        'duplicates@10', coalesce(
            1 - count(DISTINCT p.content)::double precision / nullif(count(*), 0), 0
        )
    )
    FROM unnest(passages) AS p
    WHERE p.rank <= 10;
END;
