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
        RAISE EXCEPTION 'a coordinator of shards takes no vectors of a table over (embedding_column)'
            USING ERRCODE = 'feature_not_supported',
            HINT = 'Without it, pgblend worker makes the vectors.';
    END IF;
    RETURN wanted;
END;
$function$;
