-- _note_click: keep that a passage was opened, once a search, passage and asking role.
-- Runs with its owner's rights, since nobody writes clicks but by it.
CREATE OR REPLACE FUNCTION pgblend._note_click(search_id uuid, chunk_id bigint)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
BEGIN ATOMIC
    INSERT INTO pgblend_data.click (search_id, chunk_id, role_name)
    VALUES (_note_click.search_id, _note_click.chunk_id, pgblend._asking_role())
    ON CONFLICT DO NOTHING;
END;

-- click: note that somebody opened a passage that a search had found.
-- `search_id` is details -> 'search_id' of the search's rows. Experiments and weak judgements go by
-- clicks (experiment_status, pgblend eval learn). A click counts where the search is logged, was
-- made by the same role, and has the passage among its first ten rows; noted twice, it counts once.
-- NULL, and a passage that the caller cannot see, are errors.
CREATE OR REPLACE FUNCTION blend.click(search_id uuid, chunk_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF search_id IS NULL THEN
        RAISE EXCEPTION 'search_id is NULL: expected details -> ''search_id'' of a row'
            USING ERRCODE = '22023',
            HINT = 'Rows have it where searches are logged (the setting log_address).';
    ELSIF NOT EXISTS (SELECT FROM pgblend_data.chunk AS c WHERE c.id = chunk_id) THEN
        RAISE EXCEPTION 'there is no passage %', coalesce(chunk_id::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'Take chunk_id from a row of the search.';
    END IF;
    PERFORM pgblend._note_click(search_id, chunk_id);
END;
$function$;
