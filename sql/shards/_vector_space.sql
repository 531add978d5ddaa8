-- _vector_space: the wanted attachment: a coordinator takes no vectors of rows over, since shards
-- store them.
CREATE OR REPLACE FUNCTION pgblend._vector_space(
    wanted pgblend_data.attached_table,
    model text
)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF wanted.embedding_column IS NOT NULL OR model IS NOT NULL THEN
        RAISE EXCEPTION 'embedding_column does not work on a coordinator of shards yet'
            USING ERRCODE = 'feature_not_supported',
            HINT = 'Without it, pgblend worker makes the vectors.';
    END IF;
    RETURN wanted;
END;
$function$;
