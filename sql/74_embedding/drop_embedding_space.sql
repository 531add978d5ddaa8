-- _drop_embedding_table: drop the table of an embedding space; false where it is gone.
-- It waits in turns as long as the lock_timeout, and for ten seconds in all.
CREATE OR REPLACE FUNCTION pgblend._drop_embedding_table(dropped pgblend_data.embedding_space)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    gives_up_at timestamptz := clock_timestamp() + interval '10 s';
BEGIN
    LOOP
        BEGIN
            -- Calls in text: none (a space's table).
            EXECUTE format(
                'LOCK TABLE pgblend_data.%I, pgblend_data.chunk IN ACCESS EXCLUSIVE MODE',
                dropped.table_name);
            EXIT;
        EXCEPTION
            WHEN undefined_table THEN
                RETURN false;  -- somebody else was faster
            WHEN lock_not_available THEN
                IF clock_timestamp() > gives_up_at THEN
                    RAISE EXCEPTION 'embedding space "%" is in use', dropped.name
                        USING ERRCODE = '55P03',
                        HINT = 'A search or an ingest holds it: try again when that is over.';
                END IF;
        END;
        PERFORM pg_sleep(0.05);
    END LOOP;
    EXECUTE format('DROP TABLE pgblend_data.%I', dropped.table_name);
    RETURN true;
END;
$function$;

-- drop_embedding_space: delete an embedding space with its vectors; false where there is none.
-- The active space is refused (55006) unless even_active is true, and one that has the vectors of
-- an attached table (55000). It waits for searches in short
-- turns, so that nobody waits behind it for long and no deadlock hits others; 55P03 after 10 s.
-- Runs with its owner's rights, since the table belongs to whoever owns the others; a check
-- constraint lets the registry name embedding tables only. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.drop_embedding_space(
    name text,
    even_active boolean DEFAULT false
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET lock_timeout = '200ms'
AS $function$
DECLARE
    dropped pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO dropped FROM pgblend_data.embedding_space AS s
    WHERE s.name = drop_embedding_space.name;
    IF NOT FOUND THEN
        RETURN false;
    ELSIF dropped.active AND NOT coalesce(even_active, false) THEN
        RAISE EXCEPTION 'embedding space "%" is the one that searches use', dropped.name
            USING ERRCODE = '55006',
            HINT = 'Switch to another first (switch_embedding_space), or say even_active => true.';
    ELSIF EXISTS (SELECT FROM pgblend_data.attached_table AS a WHERE a.space = dropped.name) THEN
        RAISE EXCEPTION 'embedding space "%" has the vectors of the attached table %', dropped.name, (
            SELECT min(a.table_name) FROM pgblend_data.attached_table AS a
            WHERE a.space = dropped.name)
            USING ERRCODE = '55000',
            HINT = 'Attach the table anew without embedding_column, or detach it.';
    END IF;
    IF NOT pgblend._drop_embedding_table(dropped) THEN
        RETURN false;
    END IF;
    DELETE FROM pgblend_data.embedding_space AS s WHERE s.name = dropped.name;
    RETURN true;
END;
$function$;
