-- documents: the documents that the caller may read.
CREATE OR REPLACE VIEW blend.documents WITH (security_invoker = true) AS
SELECT
    d.id AS document_id,  -- Number of the document, kept when it is replaced.
    c.name AS collection,  -- Name of its collection.
    d.source_key,  -- Key within the collection.
    d.uri,  -- Where it came from.
    d.title,  -- Title.
    -- Text search configuration of its text: of the server, or zh, ja, ko, th, lo, km or my of
    -- pgblend.
    d.text_search_config AS language,
    d.media_type,  -- Media type of its source.
    d.metadata,  -- Metadata: what filters look at.
    d.content_hash,  -- Hash by which unchanged sources are known.
    totals.chunks,  -- Number of chunks.
    totals.tokens,  -- Tokens of its chunks, overlaps counted in each.
    d.ingested_at,  -- When it was last added, replaced or updated.
    d.modified_at,  -- The date of its text; where it tells none, when its source was modified.
    -- Summary of two or three sentences, where the setting summaries has a model make one.
    nullif(m.summary, '') AS summary
FROM pgblend_data.document AS d
INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
LEFT JOIN pgblend_data.document_summary AS m ON d.id = m.document_id
CROSS JOIN LATERAL (
    SELECT
        count(*) AS chunks,
        coalesce(sum(h.token_count), 0) AS tokens
    FROM pgblend_data.chunk AS h
    WHERE h.document_id = d.id
) AS totals;

-- document_rights: the documents with readers of their own that the caller may read.
-- Who may write to the collection sees all readers, others those that they are themselves.
CREATE OR REPLACE VIEW blend.document_rights WITH (security_invoker = true) AS
SELECT
    d.id AS document_id,  -- Number of the document.
    c.name AS collection,  -- Name of its collection.
    d.source_key,  -- Its key within the collection.
    -- Roles, and groups as group:NAME; empty where nobody but writers and admins may read it.
    pgblend._compartment_readers(c.id) AS readers
FROM pgblend_data.document AS d
INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
WHERE c.parent_id IS NOT NULL;

-- attached_tables: the tables that collections follow.
CREATE OR REPLACE VIEW blend.attached_tables WITH (security_invoker = true) AS
SELECT
    -- The table; one that was dropped by the name that it had.
    coalesce(r.oid::pg_catalog.regclass::text, a.table_name) AS table_name,
    c.name AS collection,  -- The collection that follows it.
    a.key_columns,  -- Columns whose text is source_key; of several, a JSON array.
    a.text_columns,  -- Columns that are searched.
    a.title_column,  -- Column of the title.
    a.metadata_columns,  -- Columns in metadata.
    a.uri_column,  -- Column of the URI.
    a.modified_column,  -- Column of the date.
    a.tenant_column,  -- Column of the tenant, whose rows alone are found; NULL: all are.
    a.rights_column,  -- Column of who may read a row; NULL: all who may read the collection.
    a.row_filter,  -- Condition of rows that are documents; NULL: all.
    a.embedding_column,  -- Column of the row's vector; NULL: a model makes vectors.
    a.space,  -- Embedding space of these vectors.
    a.embed_long_rows,  -- Whether its model embeds passages after a row's first.
    a.text_format,  -- plain, or html where tags are left out.
    -- Whether triggers fire for each row, also in an apply worker, not for each statement.
    a.row_level,
    a.filled,  -- Whether all rows that were there before are in; see fill_table.
    a.problem,  -- Why changes could not be followed; the table is then to be filled anew.
    a.attached_by,  -- Who attached it.
    a.attached_at  -- When.
FROM pgblend_data.attached_table AS a
INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id
LEFT JOIN pg_catalog.pg_class AS r ON a.relation = r.oid;

-- collections: the collections that the caller may read, with their sizes.
CREATE OR REPLACE VIEW blend.collections WITH (security_invoker = true) AS
SELECT
    c.id,  -- Internal number.
    c.name,  -- Name, as search functions take it.
    c.text_search_config,  -- Text search configuration of documents that name none.
    c.settings,  -- Settings that differ from the database's; see blend.setting_catalog().
    (
        SELECT count(*)
        FROM pgblend_data.document AS d
        WHERE d.collection_id = ANY(pgblend._compartments(c.id))
    ) AS documents,  -- Number of documents.
    (
        SELECT count(*)
        FROM pgblend_data.chunk AS h
        WHERE h.collection_id = ANY(pgblend._compartments(c.id))
    ) AS chunks,  -- Number of chunks.
    (
        SELECT count(*)
        FROM pgblend_data.embedding_queue AS q
        INNER JOIN pgblend_data.embedding_space AS s ON q.space = s.name
        WHERE s.active AND q.collection_id = ANY(pgblend._compartments(c.id))
    ) AS chunks_without_vector,  -- Chunks that wait for a vector in the active embedding space.
    c.created_at  -- When it was made.
FROM pgblend_data.collection AS c
WHERE c.parent_id IS NULL;

-- document_metadata: the metadata of the documents that the caller may read, one row a key.
CREATE OR REPLACE VIEW blend.document_metadata WITH (security_invoker = true) AS
SELECT
    d.id AS document_id,  -- Number of the document.
    c.name AS collection,  -- Name of its collection.
    d.source_key,  -- Its key within the collection.
    m.key AS name,  -- Key of the metadata.
    m.value  -- What stands there, as text; an array or object as JSON.
FROM pgblend_data.document AS d
INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
CROSS JOIN LATERAL jsonb_each_text(d.metadata) AS m (key, value);

-- chunks: the chunks that the caller may read.
CREATE OR REPLACE VIEW blend.chunks WITH (security_invoker = true) AS
SELECT
    h.id AS chunk_id,  -- Number of the chunk; new text has a new one.
    h.document_id,  -- Its document.
    h.chunk_index,  -- Place in the document, from 0.
    c.name AS collection,  -- Name of its collection.
    h.content,  -- Text, with the overlap at its beginning.
    h.heading,  -- Headings that it stands under.
    h.kind,  -- code, doc, signature or metadata.
    h.start_line,  -- First line in the document's text, from 1.
    h.end_line,  -- Last line.
    h.start_offset,  -- First character in the document's text, from 0.
    h.end_offset,  -- Character after the last.
    h.own_start,  -- Character of content where its own text begins, after the overlap.
    h.pages,  -- Pages that it touches.
    h.token_count,  -- Tokens of content (cl100k_base).
    h.metadata,  -- Metadata of its own, over the document's.
    h.context  -- Caption, header and row labels of its table, which are searched with content.
FROM pgblend_data.chunk AS h
INNER JOIN pgblend_data.collection AS c ON h.collection_id = c.id;

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
