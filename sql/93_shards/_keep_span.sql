-- _keep_span: trigger that refuses another span of buckets than a collection was made with.
-- Its documents would stand where no search looks. Only what gives a shard its coordinator's front
-- may change it (_apply_front).
CREATE OR REPLACE FUNCTION pgblend._keep_span()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF current_setting('pgblend.gives_front', true) = 'on' THEN
        RETURN new;
    END IF;
    RAISE EXCEPTION 'the buckets of collection "%" cannot be changed', old.name
        USING ERRCODE = 'feature_not_supported',
        HINT = 'Its documents would not be found. Make another collection and ingest again.';
END;
$function$;

CREATE OR REPLACE TRIGGER collection_10_keep_span BEFORE UPDATE OF buckets
ON pgblend_data.collection
FOR EACH ROW WHEN (old.buckets IS DISTINCT FROM new.buckets) EXECUTE FUNCTION pgblend._keep_span();
