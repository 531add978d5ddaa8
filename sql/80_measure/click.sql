-- click: note that somebody opened a passage that a search had found.
-- `search_id` is details -> 'search_id' of the search's rows. Experiments and weak judgements go by
-- clicks (experiment_status, pgblend eval learn). A click counts where the search is logged, was
-- made by the same role, and has the passage among its first ten rows; what the log says otherwise
-- is an error. The log takes seconds: until then up to 1,000 clicks of a role are kept unchecked.
-- Noted twice, a click counts once; one below the tenth row is not kept. NULL is an error.
CREATE OR REPLACE FUNCTION blend.click(search_id uuid, chunk_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF search_id IS NULL OR chunk_id IS NULL THEN
        RAISE EXCEPTION 'search_id is % and chunk_id is %: expected details -> ''search_id'' and '
            'chunk_id of a row', coalesce(search_id::text, 'NULL'), coalesce(chunk_id::text, 'NULL')
            USING ERRCODE = '22023',
            HINT = 'Rows have a search_id where searches are logged (the setting log_address).';
    END IF;
    PERFORM pgblend._note_click(search_id, chunk_id);
END;
$function$;

-- _note_click: keep that a passage was opened, once a search, passage and asking role.
-- Runs with its owner's rights, since nobody writes clicks, or reads the log, but by it. What the
-- log contradicts is an error; so is the click of a role of whose clicks it knows 1,000 not yet.
CREATE OR REPLACE FUNCTION pgblend._note_click(search_id uuid, chunk_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
#variable_conflict use_column
DECLARE
    most_waiting constant bigint := 1000;
    asking_role text := pgblend._asking_role();
    logged pgblend_data.search_log;
    is_shown boolean := false;
    waiting bigint;
BEGIN
    SELECT l.* INTO logged
    FROM pgblend_data.search_log AS l WHERE l.search_id = _note_click.search_id;
    IF FOUND THEN
        IF logged.role_name <> asking_role THEN
            RAISE EXCEPTION 'search % is not one that % made', _note_click.search_id, asking_role
                USING ERRCODE = '22023', HINT = 'Click as the role that searched.';
        END IF;
        is_shown := logged.results
            @> jsonb_build_array(jsonb_build_object('chunk_id', _note_click.chunk_id));
        IF NOT is_shown AND logged.result_count > jsonb_array_length(logged.results) THEN
            RETURN;  -- it may be one of the rows that the log leaves out
        ELSIF NOT is_shown THEN
            RAISE EXCEPTION 'passage % is no row of search %',
                _note_click.chunk_id, _note_click.search_id
                USING ERRCODE = '22023', HINT = 'Give chunk_id and search_id of the same row.';
        END IF;
    ELSE
        FOR tries IN 1..2 LOOP
            SELECT count(*) INTO waiting
            FROM (
                SELECT FROM pgblend_data.click AS c
                WHERE c.role_name = asking_role AND NOT c.is_shown LIMIT most_waiting
            ) AS w;
            EXIT WHEN waiting < most_waiting;
            IF tries = 1 THEN
                PERFORM pgblend._settle_clicks(asking_role);
            ELSE
                RAISE EXCEPTION '% clicks of % wait for the log of their searches',
                    most_waiting, asking_role
                    USING ERRCODE = '53400', HINT =
                    'Is the gateway running, and has it a database? Try again in an hour.';
            END IF;
        END LOOP;
    END IF;
    INSERT INTO pgblend_data.click (search_id, chunk_id, role_name, is_shown)
    VALUES (_note_click.search_id, _note_click.chunk_id, asking_role, is_shown)
    ON CONFLICT DO NOTHING;
END;
$function$;

-- _settle_clicks: check what a role clicked before its searches were logged.
-- Clicks on logged rows are marked, others go: at once where the log has the search, after an hour
-- where it has not. What another session settles is left to it.
CREATE OR REPLACE FUNCTION pgblend._settle_clicks(asking_role text)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH waiting AS (
        SELECT
            c.search_id,
            c.chunk_id,
            c.clicked_at
        FROM pgblend_data.click AS c
        WHERE c.role_name = asking_role AND NOT c.is_shown
        FOR UPDATE SKIP LOCKED
    ),

    looked_up AS (
        SELECT
            w.search_id,
            w.chunk_id,
            l.role_name = asking_role
            AND l.results @> jsonb_build_array(jsonb_build_object('chunk_id', w.chunk_id))
            AS is_shown
        FROM waiting AS w
        LEFT JOIN pgblend_data.search_log AS l ON w.search_id = l.search_id
        WHERE l.search_id IS NOT NULL OR w.clicked_at < now() - interval '1 hour'
    ),

    gone AS (
        DELETE FROM pgblend_data.click AS c
        USING looked_up AS u
        WHERE
            c.search_id = u.search_id AND c.chunk_id = u.chunk_id AND c.role_name = asking_role
            AND u.is_shown IS NOT TRUE
    )

    UPDATE pgblend_data.click AS c SET is_shown = true
    FROM looked_up AS u
    WHERE
        c.search_id = u.search_id AND c.chunk_id = u.chunk_id AND c.role_name = asking_role
        AND u.is_shown;
END;
