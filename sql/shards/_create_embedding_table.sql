-- _create_embedding_table: the table that stands for those of the shards: it refuses to be read.
CREATE OR REPLACE FUNCTION pgblend._create_embedding_table(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    made pgblend_data.embedding_space := pgblend._named_space(space);
BEGIN
    -- Calls in text: none (a space's table).
    EXECUTE format(
        'CREATE TABLE pgblend_data.%1$I (embedding %2$I.%3$s NOT NULL);
        GRANT SELECT ON pgblend_data.%1$I TO pgblend_reader', made.table_name,
        (SELECT e.extnamespace::regnamespace::text FROM pg_extension AS e
            WHERE e.extname = 'vector'),
        made.vector_type);
    PERFORM pgblend._guard_table(made.table_name);
END;
$function$;
