-- _with_cursor_depth: a search's settings with the candidate_depth that its cursor has.
-- A cursor (option after) leads through one order, which candidate_depth decides: that of the first
-- page holds, whatever is set since. Another one in the call, or none from 1 to 10,000, is an error
-- (22023). Settings without such a cursor stay.
CREATE OR REPLACE FUNCTION pgblend._with_cursor_depth(settings jsonb, options jsonb)
RETURNS jsonb
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    depth jsonb := settings #> '{after,depth}';
BEGIN
    IF depth IS NULL THEN
        RETURN settings;
    ELSIF depth::numeric NOT BETWEEN 1 AND 10000 OR depth::numeric % 1 <> 0 THEN
        RAISE EXCEPTION 'options: "after" has depth %: expected a whole number from 1 to 10000',
            left(depth::text, 200)
            USING ERRCODE = '22023',
            HINT = 'Take details -> ''cursor'' of the last row of the page before.';
    ELSIF (options ->> 'candidate_depth')::numeric <> depth::numeric THEN
        RAISE EXCEPTION 'options: "candidate_depth" is %, but "after" is of pages of depth %',
            options ->> 'candidate_depth', depth
            USING ERRCODE = '22023',
            HINT = 'Another depth is another order: begin again without after.';
    END IF;
    RETURN settings || jsonb_build_object('candidate_depth', depth);
END;
$function$;
