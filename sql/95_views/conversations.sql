-- conversations: the channels, issues and mail threads that the caller may read, each with the
-- cursor of its sync: the last message that is in.
CREATE OR REPLACE VIEW blend.conversations WITH (security_invoker = true) AS
SELECT
    d.id AS document_id,
    c.name AS collection,
    d.source_key,
    d.title,
    d.uri,
    totals.messages,
    totals.first_at,
    totals.last_at,
    totals.last_message_id,
    d.ingested_at AS synced_at
FROM pgblend_data.document AS d
INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
CROSS JOIN LATERAL (
    SELECT
        count(DISTINCT m.value ->> 'id') AS messages,
        min(pgblend._iso_timestamp(m.value ->> 'time')) AS first_at,
        max(pgblend._iso_timestamp(m.value ->> 'time')) AS last_at,
        (array_agg(
            m.value ->> 'id'
            ORDER BY
                pgblend._iso_timestamp(m.value ->> 'time') DESC NULLS LAST,
                m.value ->> 'id' DESC
        ))[1] AS last_message_id
    FROM pgblend_data.chunk AS h
    CROSS JOIN LATERAL jsonb_path_query(h.metadata, '$.messages[*]') AS m (value)
    WHERE h.document_id = d.id
) AS totals
WHERE
    d.media_type IN (
        'application/x-slack-export', 'application/x-linear', 'application/mbox'
    );

COMMENT ON COLUMN blend.conversations.document_id IS 'The document.';
COMMENT ON COLUMN blend.conversations.collection IS 'Name of its collection.';
COMMENT ON COLUMN blend.conversations.source_key IS
'Its key: slack:, linear: or mail: and the id that its source gave it, after pgblend sync.';
COMMENT ON COLUMN blend.conversations.title IS 'Name of the channel, title of the issue or mail.';
COMMENT ON COLUMN blend.conversations.uri IS 'Where it can be read.';
COMMENT ON COLUMN blend.conversations.messages IS 'How many of its messages are in.';
COMMENT ON COLUMN blend.conversations.first_at IS 'When the first of them was written.';
COMMENT ON COLUMN blend.conversations.last_at IS
'When the last of them was written: an export from here on lacks nothing but late arrivals.';
COMMENT ON COLUMN blend.conversations.last_message_id IS
'What its source calls the last one, such as the ts of Slack.';
COMMENT ON COLUMN blend.conversations.synced_at IS 'When something of it came in last.';
