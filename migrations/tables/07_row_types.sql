-- Rows on their way: what readers of attached tables return (pgblend._ensure_reader makes one for
-- each table), and chunks that are given.

CREATE TYPE pgblend_data.attached_row AS (
    key text,
    parts text ARRAY,
    title text,
    content text,
    metadata jsonb,
    uri text,
    modified_at timestamptz,
    targets jsonb,
    embedding real ARRAY,
    readers text ARRAY
);
COMMENT ON TYPE pgblend_data.attached_row IS
'A row of an attached table as a document; of some only key and parts are read.';
COMMENT ON COLUMN pgblend_data.attached_row.key IS 'Source key.';
COMMENT ON COLUMN pgblend_data.attached_row.parts IS 'Texts of the key columns.';
COMMENT ON COLUMN pgblend_data.attached_row.title IS 'Title; empty where there is none.';
COMMENT ON COLUMN pgblend_data.attached_row.content IS 'Texts, a blank line between them.';
COMMENT ON COLUMN pgblend_data.attached_row.metadata IS 'Object of column: value.';
COMMENT ON COLUMN pgblend_data.attached_row.uri IS 'URI.';
COMMENT ON COLUMN pgblend_data.attached_row.modified_at IS 'Date of the source.';
COMMENT ON COLUMN pgblend_data.attached_row.targets IS
'Object of foreign key: source key of what it references.';
COMMENT ON COLUMN pgblend_data.attached_row.embedding IS 'Numbers of its vector.';
COMMENT ON COLUMN pgblend_data.attached_row.readers IS
'Who may read it, as grant_document takes them; NULL: all who may read its collection.';

CREATE TYPE pgblend_data.given_chunk AS (
    document integer,
    content text,
    heading text,
    kind text,
    own_start integer,
    start_offset integer,
    end_offset integer,
    start_line integer,
    end_line integer,
    pages integer ARRAY,
    token_count integer,
    piece_tokens smallint ARRAY,
    metadata jsonb,
    context text,
    own_headings text
);
COMMENT ON TYPE pgblend_data.given_chunk IS
'A chunk on its way into the database, with the columns of chunk that its source tells.';
COMMENT ON COLUMN pgblend_data.given_chunk.document IS
'Place of its document among those that are stored together, from 1.';
COMMENT ON COLUMN pgblend_data.given_chunk.content IS 'Text.';
COMMENT ON COLUMN pgblend_data.given_chunk.heading IS 'Headings above it; NULL: none.';
COMMENT ON COLUMN pgblend_data.given_chunk.kind IS 'As in chunk; NULL: doc.';
COMMENT ON COLUMN pgblend_data.given_chunk.own_start IS 'As in chunk; NULL: 0.';
COMMENT ON COLUMN pgblend_data.given_chunk.start_offset IS 'First character in the source.';
COMMENT ON COLUMN pgblend_data.given_chunk.end_offset IS 'Character after its last.';
COMMENT ON COLUMN pgblend_data.given_chunk.start_line IS 'First line in the source, from 1.';
COMMENT ON COLUMN pgblend_data.given_chunk.end_line IS 'Last line, inclusive.';
COMMENT ON COLUMN pgblend_data.given_chunk.pages IS 'Pages that it stands on, from 1.';
COMMENT ON COLUMN pgblend_data.given_chunk.token_count IS 'Tokens; NULL: to be estimated.';
COMMENT ON COLUMN pgblend_data.given_chunk.piece_tokens IS 'As in chunk.';
COMMENT ON COLUMN pgblend_data.given_chunk.metadata IS 'JSON object; NULL: an empty one.';
COMMENT ON COLUMN pgblend_data.given_chunk.context IS 'As in chunk; NULL: none.';
COMMENT ON COLUMN pgblend_data.given_chunk.own_headings IS 'As in chunk.';
