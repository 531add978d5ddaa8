-- _become_shard: make an empty database a coordinator's shard: ids come from a block of its own.
-- From then on it can be moved (_refuse_moved), and notes what edges of other shards hang on
-- (graph_change). Again with the same number changes nothing. A
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
        -- Calls in text: _note_names, _note_nodes, _refuse_moved (tables by name).
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
    FOR counted IN
        SELECT * FROM (
            VALUES ('document_name', 'INSERT', 'NEW', '_note_names', '90'),
                ('document_name', 'DELETE', 'OLD', '_note_names', '91'),
                ('link', 'INSERT', 'NEW', '_note_names', '90'),
                ('chunk', 'DELETE', 'OLD', '_note_nodes', '90'),
                ('document', 'DELETE', 'OLD', '_note_nodes', '90'),
                ('entity', 'DELETE', 'OLD', '_note_nodes', '90')
        ) AS v (name, event, rows, noting, place)
    LOOP
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER %I AFTER %s ON pgblend_data.%I
            REFERENCING %s TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION pgblend.%I()',
            format('%s_%s%s', counted.name, counted.place, counted.noting), counted.event,
            counted.name, counted.rows, counted.noting);
    END LOOP;
END;
$function$;
