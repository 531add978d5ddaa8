-- conversations: the channels, issues and mail threads that the caller may read, each with the
-- cursor of its sync: the last message that is in.
CREATE OR REPLACE VIEW blend.conversations WITH (security_invoker = true) AS
SELECT
    d.id AS document_id,  -- The document.
    c.name AS collection,  -- Name of its collection.
    -- Its key: slack:, linear: or mail: and the id that its source gave it, after pgblend sync.
    d.source_key,
    d.title,  -- Name of the channel, title of the issue or mail.
    d.uri,  -- Where it can be read.
    totals.messages,  -- How many of its messages are in.
    totals.first_at,  -- When the first of them was written.
    -- When the last of them was written: an export from here on lacks nothing but late arrivals.
    totals.last_at,
    totals.last_message_id,  -- What its source calls the last one, such as the ts of Slack.
    d.ingested_at AS synced_at  -- When something of it came in last.
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
