-- _become_shard: make an empty database a coordinator's shard: ids come from a block of its own.
-- From then on it can be moved (_refuse_moved). Again with the same number changes nothing. A
-- database that has documents, or is another shard, is an error. `tables` are those of the store.
-- Only the owner of the tables may call it.
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
        -- Calls in text: _refuse_moved (tables by name).
        EXECUTE format(
            'ALTER TABLE %s ALTER COLUMN %I SET MINVALUE %s SET MAXVALUE %s SET START %s RESTART',
            counted.relation, counted.attname, block, block + (1::bigint << 40) - 2, block);
    END LOOP;
    INSERT INTO pgblend_data.shard_self (number, front_version) VALUES (number, -1);
    FOR counted IN
        SELECT t.name FROM unnest(tables) AS t (name)
        WHERE t.name IN (
            'chunk', 'document', 'document_summary', 'edge', 'embedding_queue', 'entity', 'link')
    LOOP
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER %I BEFORE INSERT OR UPDATE OR DELETE ON pgblend_data.%I
            FOR EACH STATEMENT EXECUTE FUNCTION pgblend._refuse_moved()',
            counted.name || '_00_refuse_moved', counted.name);
    END LOOP;
END;
$function$;
