-- _check_chunk_sizes: raise unless overlap and minimum are below the chunk size.
-- Takes every setting of scope collection in force, as _collection_settings gives them.
CREATE OR REPLACE FUNCTION pgblend._check_chunk_sizes(settings jsonb)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
    chunk_size integer := settings ->> 'chunk_size_tokens';
    part text;
BEGIN
    FOREACH part IN ARRAY ARRAY['chunk_overlap_tokens', 'min_chunk_size_tokens'] LOOP
        IF (settings ->> part)::integer >= chunk_size THEN
            RAISE EXCEPTION '% is %: expected less than chunk_size_tokens, which is %',
                part, settings ->> part, chunk_size
                USING ERRCODE = '22023', HINT = 'Raise the one or lower the other first.';
        END IF;
    END LOOP;
END;
$function$;
