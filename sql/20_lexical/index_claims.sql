-- _check_can_index: whether this session can write segments: false, with a NOTICE, without numpy.
-- A transaction that does not see what others commit is an error.
CREATE OR REPLACE FUNCTION pgblend._check_can_index()
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the lexical index cannot be written at isolation level %',
            current_setting('transaction_isolation')
            USING ERRCODE = '25001', HINT = 'Use a transaction at READ COMMITTED.';
    ELSIF NOT pgblend._has_numpy() THEN
        RAISE NOTICE 'nothing is sealed: the server''s Python has no numpy'
            USING HINT = 'Install it there (Debian: python3-numpy). What waits is sealed then.';
        RETURN false;
    END IF;
    RETURN true;
END;
$function$;

-- _has_numpy: whether the server's Python has numpy; looked up once a session.
-- Without it chunks wait unsealed, and there is no lexical search.
CREATE OR REPLACE FUNCTION pgblend._has_numpy()
RETURNS boolean
LANGUAGE plpython3u
STABLE PARALLEL SAFE
AS $python$
if "found" not in SD:
    try:
        import numpy
        SD["found"] = True
    except ImportError:
        SD["found"] = False
return SD["found"]
$python$;

-- _check_index_claim: raise 42501 unless this transaction claimed a collection's lexical index.
-- age() is above 0 for a row that an earlier transaction wrote, whatever a restored one says.
CREATE OR REPLACE FUNCTION pgblend._check_index_claim(collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pgblend_data.index_claim AS c
        WHERE c.collection_id = _check_index_claim.collection_id
            AND c.transaction_id = pg_current_xact_id()
            AND age(c.xmin) <= 0)
    THEN
        RAISE EXCEPTION 'this transaction may not write the lexical index of collection %',
            coalesce(collection_id::text, 'NULL')
            USING ERRCODE = '42501', HINT = 'Call lexical_seal or lexical_rebuild.';
    END IF;
END;
$function$;

-- _lock_segments: become the one who writes a collection's segments until the transaction ends; an
-- error where another session is.
CREATE OR REPLACE FUNCTION pgblend._lock_segments(collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF NOT pgblend._claim_index(collection_id) THEN
        RAISE EXCEPTION 'another session writes the lexical index of this collection'
            USING ERRCODE = '55P03', HINT = 'Try again when it has finished: lexical_status().';
    END IF;
END;
$function$;

-- _claim_index: become the one who writes a collection's lexical index until the transaction ends;
-- false where another session is, 42501 unless the caller may write to the collection.
-- The lock is a row's, which row security lets only writers of the collection take; whoever calls
-- is known here alone. What writes the index runs with its owner's rights and asks for the claim
-- (_check_index_claim).
CREATE OR REPLACE FUNCTION pgblend._claim_index(collection_id bigint)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM FROM pgblend_data.index_claim AS c
    WHERE c.collection_id = _claim_index.collection_id
    FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE pgblend_data.index_claim AS c
        SET transaction_id = pg_current_xact_id()
        WHERE c.collection_id = _claim_index.collection_id;
        RETURN true;
    ELSIF NOT pgblend._may_write(collection_id) THEN
        RAISE EXCEPTION 'the lexical index of collection % is not the caller''s to write',
            coalesce(collection_id::text, 'NULL')
            USING ERRCODE = '42501', HINT = 'Who may write to it: grant_collection.';
    END IF;
    RETURN false;
END;
$function$;

-- _is_building: whether another session writes a collection's segments just now.
-- Its rows are not visible before its commit, but that it changes the row of the claim is. The
-- row's xmax is then its number: that of a transaction in progress, or of one that came after what
-- this one sees. The number has 32 bits, and is counted from the next one.
CREATE OR REPLACE FUNCTION pgblend._is_building(collection_id bigint)
RETURNS boolean
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT EXISTS(
        SELECT
        FROM (
            SELECT
                n.upcoming,
                ((c.xmax::text::bigint - n.upcoming + 2147483648) & 4294967295)
                - 2147483648 AS ahead
            FROM pgblend_data.index_claim AS c
            CROSS JOIN (
                SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS upcoming
            ) AS n
            WHERE c.collection_id = _is_building.collection_id
                AND c.xmax <> '0'::xid
                AND c.transaction_id IS DISTINCT FROM pg_current_xact_id_if_assigned()
        ) AS k
        WHERE CASE
            WHEN k.ahead >= 0 THEN true
            ELSE pg_xact_status(greatest(k.upcoming + k.ahead, 0)::text::xid8) = 'in progress'
        END
    );
END;

-- _note_failure: keep why a collection's segments could not be written, and warn.
CREATE OR REPLACE FUNCTION pgblend._note_failure(collection_id bigint, message text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.lexical_failure (collection_id, message, failed_at)
    VALUES (collection_id, message, clock_timestamp())
    ON CONFLICT ON CONSTRAINT lexical_failure_pkey DO UPDATE
    SET message = excluded.message, failed_at = excluded.failed_at;
    RAISE WARNING 'the lexical index of collection % could not be written: %',
        collection_id, message
        USING HINT = 'The old segments go on serving; see lexical_status().';
END;
$function$;

-- _collection_add_locks: trigger that makes the rows that stand for a new collection's locks.
-- Runs with its owner's rights: nobody else adds or deletes them.
CREATE OR REPLACE FUNCTION pgblend._collection_add_locks()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    INSERT INTO pgblend_data.index_claim (collection_id, transaction_id) VALUES (new.id, '0');
    INSERT INTO pgblend_data.vocabulary_lock (collection_id) VALUES (new.id);
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER collection_30_add_locks AFTER INSERT ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._collection_add_locks();
