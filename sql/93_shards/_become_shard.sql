-- _become_shard: make an empty database a coordinator's shard: ids come from a block of its own.
-- Again with the same number changes nothing. A database that has documents, or is another shard,
-- is an error. `tables` are those of the store. Only the owner of the tables may call it.
CREATE OR REPLACE FUNCTION pgblend._become_shard(number integer, tables text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    block bigint := (number::bigint << 40) + 1;
    counted record;
BEGIN
    IF EXISTS (SELECT FROM pgblend_data.shard_self AS s WHERE s.number = _become_shard.number) THEN
        RETURN;
    ELSIF EXISTS (SELECT FROM pgblend_data.shard_self) OR EXISTS (SELECT FROM pgblend_data.shard)
        OR EXISTS (SELECT FROM pgblend_data.document)
    THEN
        RAISE EXCEPTION 'database % has documents, or is a shard or a coordinator already',
            current_database()
            USING ERRCODE = '55000', HINT = 'A new shard is a new database: pgblend migrate up.';
    END IF;
    FOR counted IN
        SELECT a.attrelid::regclass AS relation, a.attname
        FROM pg_attribute AS a
        WHERE a.attrelid = ANY(ARRAY(
                SELECT format('pgblend_data.%I', t.name)::regclass FROM unnest(tables) AS t (name)))
            AND a.attidentity <> ''
    LOOP
        -- Calls in text: none (a table by name).
        EXECUTE format(
            'ALTER TABLE %s ALTER COLUMN %I SET MINVALUE %s SET MAXVALUE %s SET START %s RESTART',
            counted.relation, counted.attname, block, block + (1::bigint << 40) - 2, block);
    END LOOP;
    INSERT INTO pgblend_data.shard_self (number, front_version) VALUES (number, -1);
END;
$function$;
