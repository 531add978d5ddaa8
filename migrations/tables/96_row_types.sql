-- Rows on their way: what readers of attached tables return (pgblend._ensure_reader makes one for
-- each table).

CREATE TYPE pgblend_data.attached_row AS (
    key text,
    parts text[],
    title text,
    content text,
    metadata jsonb,
    uri text,
    modified_at timestamptz,
    targets jsonb
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
