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
