-- Who sees and changes which rows. Rights on tables are given in sql/99_access.

-- A grant of either kind lets a role see; pg_has_role makes members of a granted role see as well.
-- A role made later under the name of one that was dropped has another number, and no grant of it.
-- Numbers mean nothing on another server: what was restored there counts by name, until
-- _bind_roles notes the numbers of that server.
CREATE POLICY collection_grant_own ON pgblend_data.collection_grant FOR SELECT USING (
    (role_name, role_oid) IN (
        SELECT
            r.rolname,
            r.oid
        FROM pg_catalog.pg_roles AS r
        WHERE pg_has_role(r.oid, 'USAGE')
    )
    OR (
        role_name IN (
            SELECT r.rolname FROM pg_catalog.pg_roles AS r
            WHERE pg_has_role(r.oid, 'USAGE')
        )
        AND made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
    )
);
CREATE POLICY collection_grant_admin ON pgblend_data.collection_grant
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.collection_grant ENABLE ROW LEVEL SECURITY;

-- Groups that the session holds: those of its setting pgblend.groups, where sign_groups made it,
-- for this role, and not too long ago. The first 64 characters sign the rest, which is JSON. The
-- role is there by its number: one that is made anew under its name holds nothing.
CREATE VIEW pgblend_data.session_group WITH (security_barrier = true) AS
WITH given AS (
    SELECT current_setting('pgblend.groups', true) AS value
),

signed AS MATERIALIZED (  -- checked once
    SELECT CASE
        WHEN left(g.value, 64) = encode(sha256(
            k.secret || sha256(k.secret || convert_to(substr(g.value, 65), 'UTF8'))
        ), 'hex') THEN substr(g.value, 65)::jsonb
    END AS held
    FROM pgblend_data.group_secret AS k
    CROSS JOIN given AS g
)

SELECT
    g.name,
    (p.held ->> 'until')::double precision AS until
FROM signed AS p
CROSS JOIN LATERAL jsonb_array_elements_text(p.held -> 'groups') AS g (name)
WHERE
    (p.held ->> 'role')::oid = to_regrole(quote_ident(current_user))::oid
    AND (p.held ->> 'until')::double precision > extract(EPOCH FROM clock_timestamp());
COMMENT ON VIEW pgblend_data.session_group IS
'The groups that the session holds by the signed setting pgblend.groups.';
COMMENT ON COLUMN pgblend_data.session_group.name IS 'A group.';
COMMENT ON COLUMN pgblend_data.session_group.until IS 'Till when, in seconds since 1970.';

CREATE POLICY document_reader_own ON pgblend_data.document_reader FOR SELECT USING (
    CASE
        WHEN is_group THEN reader::text IN (SELECT s.name FROM pgblend_data.session_group AS s)
        WHEN made_in = (SELECT s.system_identifier FROM pg_control_system() AS s)
            THEN (reader, role_oid) IN (
                SELECT
                    r.rolname,
                    r.oid
                FROM pg_catalog.pg_roles AS r
                WHERE pg_has_role(r.oid, 'USAGE')
            )
        ELSE reader IN (
            SELECT r.rolname FROM pg_catalog.pg_roles AS r
            WHERE pg_has_role(r.oid, 'USAGE')
        )
    END
);
-- Who may write to a compartment sees who may read it.
CREATE POLICY document_reader_write ON pgblend_data.document_reader FOR SELECT USING (
    collection_id IN (
        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
        WHERE g.privilege = 'write'
    )
);
CREATE POLICY document_reader_admin ON pgblend_data.document_reader FOR SELECT
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.document_reader ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgblend_data.group_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgblend_data.collection_change ENABLE ROW LEVEL SECURITY;

-- The collections and compartments that are granted to the caller. Of a compartment the readers see
-- its documents, where they may read its collection. Those who may write to that have grants on the
-- compartment too (_grant_follow). It reads as its owner, past row security, and asks for the
-- caller's roles and groups: it tells nothing that the policies of what it reads would not.
CREATE VIEW pgblend_data.readable_collection WITH (security_barrier = true) AS
WITH own AS MATERIALIZED (
    SELECT
        r.oid,
        r.rolname
    FROM pg_catalog.pg_roles AS r
    WHERE pg_has_role(r.oid, 'USAGE')
),

granted AS MATERIALIZED (
    SELECT g.collection_id
    FROM pgblend_data.collection_grant AS g
    INNER JOIN own AS r ON g.role_name = r.rolname
    WHERE
        g.role_oid = r.oid
        OR g.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
),

held AS (
    SELECT d.collection_id
    FROM pgblend_data.document_reader AS d
    INNER JOIN pgblend_data.session_group AS s ON d.reader = s.name::name
    WHERE d.is_group
    UNION ALL
    SELECT d.collection_id
    FROM pgblend_data.document_reader AS d
    INNER JOIN own AS r ON d.reader = r.rolname
    WHERE
        NOT d.is_group AND (
            d.role_oid = r.oid
            OR d.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
        )
)

SELECT g.collection_id FROM granted AS g
UNION ALL
SELECT c.id AS collection_id
FROM held AS h
INNER JOIN pgblend_data.collection AS c ON h.collection_id = c.id
INNER JOIN granted AS g ON c.parent_id = g.collection_id;
COMMENT ON VIEW pgblend_data.readable_collection IS
'The collections and compartments that are granted to the caller, some more than once.';
COMMENT ON COLUMN pgblend_data.readable_collection.collection_id IS
'A collection, or a compartment.';

-- A search reads a dozen tables, and each policy would find the same collections anew. So it finds
-- them once, as bits, and keeps them signed in a setting (_run_search, which takes it back). That
-- counts for the same snapshot, role and groups, and where the transaction wrote or keeps its
-- snapshot, for the same statement of the client: else no right changes without another snapshot.
-- Whatever else is there proves nothing, and policies ask readable_collection. It ends with the
-- caller's last collection, so that it does not tell how many there are.
CREATE VIEW pgblend_data.proof_occasion WITH (security_barrier = true) AS
SELECT
    concat_ws(
        ' ', pg_current_snapshot(), CASE WHEN o.is_fleeting THEN statement_timestamp() END
    ) AS occasion,
    o.is_fleeting
FROM (
    SELECT
        current_setting('transaction_isolation') <> 'read committed'
        OR pg_current_xact_id_if_assigned() IS NOT NULL
        OR pg_is_in_recovery() AS is_fleeting  -- a standby's snapshots do not tell what is in them
) AS o;
COMMENT ON VIEW pgblend_data.proof_occasion IS
'When what a role may read cannot have changed.';
COMMENT ON COLUMN pgblend_data.proof_occasion.occasion IS
'The snapshot and, where a right may change under it, the statement of the client.';
COMMENT ON COLUMN pgblend_data.proof_occasion.is_fleeting IS
'Whether a right may change under the snapshot.';

-- Views give it the secret. Its body is in their plans: a call would take longer than to sign.
CREATE FUNCTION pgblend_data.signature(secret bytea, words text)
RETURNS text
LANGUAGE sql
STABLE PARALLEL UNSAFE
RETURN encode(sha256(secret || sha256(secret || convert_to(concat_ws(
    ' ', words, md5(coalesce(left(current_setting('pgblend.groups', true), 64), '')), current_user
), 'UTF8'))), 'hex');
COMMENT ON FUNCTION pgblend_data.signature(bytea, text) IS
'A signature of words that counts for the caller''s role and groups.';

CREATE VIEW pgblend_data.granted_words WITH (security_barrier = true) AS
WITH bits AS MATERIALIZED (
    SELECT
        r.collection_id >> 6 AS place,
        bit_or(1::bigint << (r.collection_id & 63)::integer) AS word
    FROM pgblend_data.readable_collection AS r
    GROUP BY r.collection_id >> 6
)

SELECT array_agg(coalesce(b.word, 0) ORDER BY p.place) AS words
FROM generate_series(0, (SELECT max(a.place) FROM bits AS a)) AS p (place)
LEFT JOIN bits AS b ON p.place = b.place;
COMMENT ON VIEW pgblend_data.granted_words IS
'The collections and compartments of readable_collection, as bits.';
COMMENT ON COLUMN pgblend_data.granted_words.words IS
'Has bit id % 64 of word id / 64 of each; NULL where there are none.';

CREATE VIEW pgblend_data.readable_proof WITH (security_barrier = true) AS
WITH listed AS MATERIALIZED (
    SELECT concat(
        g.words, ' ',
        coalesce((SELECT min(s.until) FROM pgblend_data.session_group AS s), 'infinity')
    ) AS words
    FROM pgblend_data.granted_words AS g
    WHERE cardinality(g.words) <= 10000
)

SELECT l.words || pgblend_data.signature(k.secret, concat_ws(' ', l.words, o.occasion)) AS proof
FROM pgblend_data.group_secret AS k
CROSS JOIN listed AS l
CROSS JOIN pgblend_data.proof_occasion AS o;
COMMENT ON VIEW pgblend_data.readable_proof IS
'What the caller may read in the statement under way, signed, for the setting pgblend.readable.';
COMMENT ON COLUMN pgblend_data.readable_proof.proof IS
'The words of granted_words as text, till when the groups are held (seconds since 1970), and the
signature.';

CREATE VIEW pgblend_data.readable_words WITH (security_barrier = true) AS
WITH given AS (
    SELECT current_setting('pgblend.readable', true) AS proof
)

SELECT CASE
    WHEN
        right(g.proof, 64)
        = pgblend_data.signature(k.secret, concat_ws(' ', left(g.proof, -64), o.occasion))
        THEN CASE
            WHEN
                split_part(left(g.proof, -64), ' ', 2)::double precision
                > extract(EPOCH FROM statement_timestamp())
                THEN split_part(g.proof, ' ', 1)::bigint[]
        END
END AS words
FROM pgblend_data.group_secret AS k
CROSS JOIN given AS g
CROSS JOIN pgblend_data.proof_occasion AS o
WHERE g.proof <> '';
COMMENT ON VIEW pgblend_data.readable_words IS
'What the setting pgblend.readable proves of the statement under way.';
COMMENT ON COLUMN pgblend_data.readable_words.words IS
'As readable_proof has them; NULL where nothing is proved.';

-- To find it anew after each commit takes as long as a search where there are many readers, though
-- few commits change it. So a session may keep it with its snapshot and the caller's roles, signed
-- for that alone. It has it signed for the snapshot in force if that shows no new change of
-- collections. Changes of their lexical indexes are told by table: sessions keep rows of those too.
CREATE VIEW pgblend_data.own_roles WITH (security_barrier = true) AS
SELECT md5(string_agg(concat_ws(' ', r.oid, r.rolname), ' ' ORDER BY r.oid)) AS digest
FROM pg_catalog.pg_roles AS r
WHERE pg_has_role(r.oid, 'USAGE');
COMMENT ON VIEW pgblend_data.own_roles IS 'The roles whose rights the caller has.';
COMMENT ON COLUMN pgblend_data.own_roles.digest IS 'Tells them by number and name.';

CREATE VIEW pgblend_data.lasting_proof WITH (security_barrier = true) AS
WITH proved AS MATERIALIZED (
    SELECT concat(
        left(current_setting('pgblend.readable', true), -64), ' ', pg_current_snapshot()
    ) AS words
    FROM pgblend_data.readable_words AS w
    CROSS JOIN pgblend_data.proof_occasion AS o
    WHERE w.words IS NOT NULL AND NOT o.is_fleeting
)

SELECT
    p.words
    || pgblend_data.signature(k.secret, concat_ws(' ', 'lasting', p.words, r.digest)) AS proof
FROM pgblend_data.group_secret AS k
CROSS JOIN proved AS p
CROSS JOIN pgblend_data.own_roles AS r;
COMMENT ON VIEW pgblend_data.lasting_proof IS
'What the setting pgblend.readable proves, to be kept for the setting pgblend.lasting.';
COMMENT ON COLUMN pgblend_data.lasting_proof.proof IS
'The text of readable_proof, the snapshot, and a signature that no policy believes.';

CREATE VIEW pgblend_data.renewed_proof WITH (security_barrier = true) AS
WITH given AS (
    SELECT
        left(s.proof, -64) AS text,
        right(s.proof, 64) AS signature
    FROM (SELECT current_setting('pgblend.lasting', true) AS proof) AS s
    WHERE s.proof <> ''
),

signed AS MATERIALIZED (
    SELECT g.text
    FROM given AS g
    CROSS JOIN pgblend_data.group_secret AS k
    CROSS JOIN pgblend_data.own_roles AS r
    WHERE
        g.signature
        = pgblend_data.signature(k.secret, concat_ws(' ', 'lasting', g.text, r.digest))
),

kept AS MATERIALIZED (
    SELECT
        concat_ws(' ', split_part(s.text, ' ', 1), split_part(s.text, ' ', 2)) AS words,
        split_part(s.text, ' ', 3)::pg_snapshot AS snapshot
    FROM signed AS s
)

SELECT
    p.words || pgblend_data.signature(k.secret, concat_ws(' ', p.words, o.occasion)) AS proof,
    coalesce(c.index_tables, '{}') AS index_tables
FROM kept AS p
CROSS JOIN LATERAL (
    SELECT
        array_agg(DISTINCT c.index_table::text) AS index_tables,
        bool_and(c.index_table IS NOT NULL) AS is_of_index
    FROM pgblend_data.collection_change AS c
    WHERE
        c.transaction_id >= pg_snapshot_xmin(p.snapshot)
        -- Later ones are of a server that this was restored from.
        AND c.transaction_id < pg_snapshot_xmax(pg_current_snapshot())
        AND NOT pg_visible_in_snapshot(c.transaction_id, p.snapshot)
) AS c
CROSS JOIN pgblend_data.group_secret AS k
CROSS JOIN pgblend_data.proof_occasion AS o
WHERE
    NOT o.is_fleeting
    -- What another server sends is written past triggers.
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_subscription)
    -- Another session's may be later than the snapshot in force.
    AND pg_snapshot_xmax(p.snapshot) <= pg_snapshot_xmax(pg_current_snapshot())
    AND NOT EXISTS (
        SELECT FROM pg_snapshot_xip(pg_current_snapshot()) AS x (id)
        WHERE pg_visible_in_snapshot(x.id, p.snapshot)
    )
    AND coalesce(c.is_of_index, true);
COMMENT ON VIEW pgblend_data.renewed_proof IS
'What the setting pgblend.lasting still proves, as readable_proof has it.';
COMMENT ON COLUMN pgblend_data.renewed_proof.proof IS 'For the setting pgblend.readable.';
COMMENT ON COLUMN pgblend_data.renewed_proof.index_tables IS
'Tables of the lexical index that changed.';

-- A function, which policies start in no time: a look into the views would be made ready for each
-- table of each statement, though nearly all have a proof. It keeps the plans for the session.
CREATE FUNCTION pgblend_data.readable_bits()
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    proved bigint[] := (SELECT w.words FROM pgblend_data.readable_words AS w);
BEGIN
    IF proved IS NULL THEN
        RETURN (SELECT g.words FROM pgblend_data.granted_words AS g);
    END IF;
    RETURN proved;
END;
$function$;
COMMENT ON FUNCTION pgblend_data.readable_bits() IS
'What the caller may read, as granted_words has it: as proved, else as found now.';

CREATE POLICY collection_admin ON pgblend_data.collection
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.collection ENABLE ROW LEVEL SECURITY;

-- Rows that belong to a collection. Without one (evaluation) they are in no list: admins only.
-- An edge tells that its other end exists, so both ends must be visible. Embedding tables get the
-- same policies when made (pgblend._create_embedding_table).
-- Who may write may read, so policies for writers are of changes alone: one for all commands would
-- be made ready for each table of each search.
DO $do$
DECLARE
    -- NULL, which is no, beyond the last word.
    readable text := '((SELECT pgblend_data.readable_bits()))[(%1$I >> 6)::integer + 1]
        >> (%1$I & 63)::integer & 1 = 1';
    both_ends text;
    secured name;
    command text;
BEGIN
    EXECUTE format(
        'CREATE POLICY collection_read ON pgblend_data.collection FOR SELECT USING (%s)',
        format(readable, 'id'));
    FOREACH secured IN ARRAY ARRAY[
        'attached_table', 'calibration', 'chunk', 'collection_language', 'document',
        'document_name', 'document_summary', 'edge', 'embedding_queue', 'entity',
        'entity_extraction', 'evaluation_result', 'evaluation_run', 'index_claim', 'judged_query',
        'judged_set', 'judgement', 'key_reference', 'lexical_failure', 'link', 'pending',
        'posting', 'segment', 'tombstone', 'unsettled', 'vocabulary']
    LOOP
        both_ends := CASE secured
            WHEN 'edge' THEN 'AND ' || format(readable, 'neighbour_collection_id') END;
        EXECUTE format(
            'CREATE POLICY %2$I ON pgblend_data.%1$I FOR SELECT USING (%3$s %4$s)',
            secured, secured || '_read', format(readable, 'collection_id'), both_ends);
        EXECUTE format(
            'CREATE POLICY %2$I ON pgblend_data.%1$I
            USING ((SELECT pg_has_role(''pgblend_admin'', ''USAGE'')))',
            secured, secured || '_admin');
        EXECUTE format('ALTER TABLE pgblend_data.%I ENABLE ROW LEVEL SECURITY', secured);
        -- Attached tables are followed by routines of the owner alone.
        CONTINUE WHEN secured IN ('attached_table', 'key_reference');
        FOREACH command IN ARRAY ARRAY['INSERT', 'UPDATE', 'DELETE'] LOOP
            EXECUTE format(
                'CREATE POLICY %2$I ON pgblend_data.%1$I FOR %3$s %4$s (
                    collection_id IN (
                        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
                        WHERE g.privilege = ''write'') %5$s)',
                secured, secured || '_' || lower(command), command,
                CASE command WHEN 'INSERT' THEN 'WITH CHECK' ELSE 'USING' END, both_ends);
        END LOOP;
    END LOOP;
END
$do$;
