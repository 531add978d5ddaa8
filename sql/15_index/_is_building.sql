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
