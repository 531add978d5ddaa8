-- _queue_changed_prefix: queue the chunks of a collection whose text to embed another prefix
-- changes; returns how many times a space.
-- A chunk without title and heading, for one, is the same with "title" as with "none".
CREATE OR REPLACE FUNCTION pgblend._queue_changed_prefix(
    collection_id bigint,
    old_prefix text,
    new_prefix text
)
RETURNS bigint
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT pgblend._queue_again(array_agg(c.id))
    FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON c.document_id = d.id
    LEFT JOIN pgblend_data.document_summary AS m ON d.id = m.document_id
    WHERE
        c.collection_id = _queue_changed_prefix.collection_id
        AND pgblend._embedding_input(old_prefix, d.title, c.heading, c.content, m.summary)
        <> pgblend._embedding_input(new_prefix, d.title, c.heading, c.content, m.summary);
END;
