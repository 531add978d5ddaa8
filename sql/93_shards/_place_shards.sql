-- _place_shards: note where shards are: names and connection strings, the first is number 0.
-- directs are those of the command line where it goes another way, else NULL.
-- Buckets are spread evenly, and a server for PL/Proxy is made, whose partitions are the shards; it
-- takes a power of two of them, so the last is named again. Connection strings have no user and no
-- password: those are in user mappings, one for each role (and they are _shielded). Names that are
-- there already, in their order, change connection strings alone; others are an error. Only a
-- superuser may call it.
CREATE OR REPLACE FUNCTION pgblend._place_shards(
    names text[],
    connections text[],
    directs text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    known text[] := ARRAY(SELECT s.name FROM pgblend_data.shard AS s ORDER BY s.number);
    count integer := cardinality(names);
    partitions integer := 1;
    is_new boolean := known = '{}';
    options text;
BEGIN
    IF NOT is_new AND known <> names THEN
        RAISE EXCEPTION 'this coordinator has the shards %: a split adds others',
            array_to_string(known, ', ')
            USING ERRCODE = 'feature_not_supported', HINT = 'pgblend shards split NAME NAME=URL …';
    END IF;
    WHILE partitions < count LOOP
        partitions := partitions * 2;
    END LOOP;
    SELECT string_agg(format(
        '%s p%s %L', CASE WHEN is_new THEN NULL ELSE 'SET' END, p,
        pgblend._shielded(connections[least(p + 1, count)])), ', ' ORDER BY p)
    INTO options
    FROM generate_series(0, partitions - 1) AS p;
    -- Calls in text: none (connection strings are text in these statements, a schema by name).
    IF NOT is_new THEN
        EXECUTE format('ALTER SERVER pgblend_shards OPTIONS (%s)', options);
        UPDATE pgblend_data.shard AS s SET direct = directs[array_position(names, s.name)];
        RETURN;
    END IF;
    PERFORM pgblend._make_plproxy();
    EXECUTE format(
        'CREATE SERVER pgblend_shards FOREIGN DATA WRAPPER plproxy OPTIONS (%s)', options);
    GRANT USAGE ON FOREIGN SERVER pgblend_shards TO pgblend_reader;
    INSERT INTO pgblend_data.shard_front (version) VALUES (0);
    INSERT INTO pgblend_data.shard (number, name, direct)
    SELECT n.place - 1, n.name, n.direct
    FROM unnest(names, directs) WITH ORDINALITY AS n (name, direct, place);
    INSERT INTO pgblend_data.shard_bucket (bucket, shard)
    SELECT b, b * count / 4096 FROM generate_series(0, 4095) AS b;
END;
$function$;
