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

-- _refuse_moved: trigger that refuses changes of documents on a shard that is being moved, or was.
-- Runs with its owner's rights: the row is locked until the transaction ends, so that a move waits
-- for what has begun, and what begins later is refused.
CREATE OR REPLACE FUNCTION pgblend._refuse_moved()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM FROM pgblend_data.shard_self AS s WHERE NOT s.is_moved FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'shard % takes no documents: it is being split or moved, or was',
            (SELECT s.number FROM pgblend_data.shard_self AS s)
            USING ERRCODE = 'PB016',
            HINT = 'By way of its coordinator they go where they belong, as soon as that is known.';
    END IF;
    RETURN NULL;
END;
$function$;

-- _note_names: trigger of a shard that notes names which documents or links got or lost: links of
-- other shards may lead elsewhere now.
CREATE OR REPLACE FUNCTION pgblend._note_names()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.graph_change (collection_id, name)
    SELECT DISTINCT c.collection_id, c.name FROM changed AS c;
    RETURN NULL;
END;
$function$;

-- _note_nodes: trigger of a shard that notes documents, chunks or entities which went: edges of
-- other shards may lead to them.
CREATE OR REPLACE FUNCTION pgblend._note_nodes()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.graph_change (collection_id, node)
    SELECT c.collection_id,
        c.id * 4 + CASE TG_TABLE_NAME WHEN 'chunk' THEN 1 WHEN 'entity' THEN 2 ELSE 0 END
    FROM changed AS c;
    RETURN NULL;
END;
$function$;

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

-- _make_plproxy: make the extension by which a coordinator asks its shards; again changes nothing.
-- Only a superuser may call it.
CREATE OR REPLACE FUNCTION pgblend._make_plproxy()
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: none (a schema by name).
    EXECUTE format('CREATE EXTENSION IF NOT EXISTS plproxy SCHEMA %s', (
        SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'vector'));
END;
$function$;

-- _replace_shard: let new shards have the buckets of one that was copied to them.
-- buckets has those of the former shard, owners the number of the new shard of each. The former
-- one's partition stays, for searches that have begun. Another version of the front than the new
-- shards were given is an error. Only a superuser may call it.
CREATE OR REPLACE FUNCTION pgblend._replace_shard(
    former integer,
    given_version bigint,
    numbers integer[],
    names text[],
    connections text[],
    directs text[],
    buckets smallint[],
    owners integer[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    version bigint := (SELECT f.version FROM pgblend_data.shard_front AS f FOR UPDATE);
    known jsonb := (
        SELECT jsonb_object_agg(o.option_name, o.option_value)
        FROM pg_foreign_server AS s
        CROSS JOIN LATERAL pg_options_to_table(s.srvoptions) AS o
        WHERE s.srvname = 'pgblend_shards');
    partitions integer := 1;
BEGIN
    IF version <> given_version THEN
        RAISE EXCEPTION 'collections, grants or settings were changed meanwhile'
            USING ERRCODE = '40001', HINT = 'Run it again.';
    END IF;
    WHILE partitions <= (SELECT max(n) FROM unnest(numbers) AS n) LOOP
        partitions := partitions * 2;
    END LOOP;
    -- Calls in text: none (connection strings).
    EXECUTE (
        SELECT format('ALTER SERVER pgblend_shards OPTIONS (%s)', string_agg(format(
            '%s p%s %L', CASE WHEN known ? ('p' || p) THEN 'SET' ELSE 'ADD' END, p,
            pgblend._shielded(coalesce(
                connections[array_position(numbers, p)],
                CASE WHEN p < (SELECT min(n) FROM unnest(numbers) AS n) THEN known ->> ('p' || p) END,
                connections[cardinality(connections)]))), ', ' ORDER BY p))
        FROM generate_series(0, partitions - 1) AS p);
    INSERT INTO pgblend_data.shard (number, name, pushed_version, direct)
    SELECT n.number, n.name, version, n.direct
    FROM unnest(numbers, names, directs) AS n (number, name, direct);
    UPDATE pgblend_data.shard_bucket AS b SET shard = o.owner
    FROM unnest(buckets, owners) AS o (bucket, owner)
    WHERE b.bucket = o.bucket AND b.shard = former;
    DELETE FROM pgblend_data.shard AS s WHERE s.number = former;
END;
$function$;

-- _shielded: a connection string that takes nothing from the account that the server runs as.
-- Else whoever may search could name another user in a mapping of its own, and come in by that
-- account's passwords (a file's or PGPASSWORD), certificate or ticket. What the string says itself
-- comes after, and counts.
CREATE OR REPLACE FUNCTION pgblend._shielded(connection text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN starts_with(connection, 'passfile=/dev/null ') THEN connection
    ELSE 'passfile=/dev/null password=none sslcert=/dev/null/none gssencmode=disable '
        'krbsrvname=none ' || connection
END;

-- _map_user: let a role go to shards as a user there, with a password (NULL: none).
-- A mapping for each role, never for PUBLIC, which would undo row security. Again replaces it. Only
-- who owns the server pgblend_shards may call it.
CREATE OR REPLACE FUNCTION pgblend._map_user(role_name text, user_name text, password text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: none (a role by name, a login as text).
    EXECUTE format('DROP USER MAPPING IF EXISTS FOR %I SERVER pgblend_shards', role_name);
    EXECUTE format(
        'CREATE USER MAPPING FOR %I SERVER pgblend_shards OPTIONS (user %L%s)',
        role_name, user_name, coalesce(', password ' || quote_literal(password), ''));
END;
$function$;

-- _trusts: whether a server lets this one in as a user without a password, by that connection
-- string. By what the account has that this server runs as, too, unless the string is _shielded. Of
-- a server that does not answer nobody knows: false. Only a superuser calls it.
CREATE OR REPLACE FUNCTION pgblend._trusts(connection text, user_name text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    answer integer;
BEGIN
    -- Calls in text: none (a routine of this session alone).
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION pg_temp.asked_without_password() RETURNS integer
        LANGUAGE plproxy AS %L', format('CONNECT %L; SELECT 1;', format(
            '%s user=''%s''', connection,
            regexp_replace(user_name, E'([''\\\\])', E'\\\\\\1', 'g'))));
    EXECUTE 'SELECT pg_temp.asked_without_password()' INTO answer;
    RETURN true;
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END;
$function$;

-- _check_addressed: raise unless this database is the shard of all these numbers.
-- A session of the coordinator may know partitions as they were before a split: 40001, and a new
-- try knows better.
CREATE OR REPLACE FUNCTION pgblend._check_addressed(numbers integer[])
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    IF EXISTS (
        SELECT FROM pgblend_data.shard_self AS s, unnest(numbers) AS n WHERE n <> s.number)
    THEN
        RAISE EXCEPTION 'shards were changed while this call began'
            USING ERRCODE = '40001', HINT = 'Call it again.';
    END IF;
END;
$function$;
