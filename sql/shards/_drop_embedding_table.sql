-- _drop_embedding_table: drop what stands for the tables of the shards; false where it is gone.
CREATE OR REPLACE FUNCTION pgblend._drop_embedding_table(dropped pgblend_data.embedding_space)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: none (a space's table).
    EXECUTE format('DROP FOREIGN TABLE pgblend_data.%I', dropped.table_name || '_elsewhere');
    EXECUTE format('DROP TABLE pgblend_data.%I', dropped.table_name);
    RETURN true;
EXCEPTION WHEN undefined_table THEN
    RETURN false;  -- somebody else was faster
END;
$function$;
