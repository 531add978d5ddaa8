-- _finish_run: store a run's metrics, one object a query and one for all, and mark it done.
-- Arrays of different lengths, an unknown run and a query that is not in it are errors.
CREATE OR REPLACE FUNCTION pgblend._finish_run(
    run_id bigint,
    query_ids bigint[],
    query_metrics jsonb[],
    metrics jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    stored integer;
BEGIN
    UPDATE pgblend_data.evaluation_result AS e SET metrics = e.metrics || m.metrics
    FROM unnest(query_ids, query_metrics) AS m (query_id, metrics)
    WHERE e.run_id = _finish_run.run_id AND e.query_id = m.query_id;
    GET DIAGNOSTICS stored = ROW_COUNT;
    UPDATE pgblend_data.evaluation_run AS r
    SET metrics = _finish_run.metrics, state = 'done', finished_at = now()
    WHERE r.id = run_id;
    IF NOT FOUND OR stored <> cardinality(query_ids) THEN
        RAISE EXCEPTION 'run % has % of % queries',
            coalesce(run_id::text, 'NULL'), stored, cardinality(query_ids)
            USING ERRCODE = '22023', HINT = 'It was removed meanwhile: run it again.';
    END IF;
END;
$function$;
