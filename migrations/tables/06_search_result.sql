-- The row of every search function.

CREATE TYPE blend.search_result AS (
    rank integer,
    score double precision,
    relevance double precision,
    document_id bigint,
    chunk_id bigint,
    collection text,
    uri text,
    title text,
    snippet text,
    content text,
    start_line integer,
    end_line integer,
    pages integer[],
    metadata jsonb,
    source_key text,
    context_before text,
    context_after text,
    arms jsonb,
    degraded text[],
    details jsonb
);
COMMENT ON TYPE blend.search_result IS 'A row of every search function.';
COMMENT ON COLUMN blend.search_result.rank IS 'Place in the whole result, from 1.';
COMMENT ON COLUMN blend.search_result.score IS
'In [0, 1], falling with rank: what the stages gave, divided by what a perfect match would get. '
'Where MMR chooses rows for variety (setting mmr) it is the score before that, and may rise: rank '
'is the order.';
COMMENT ON COLUMN blend.search_result.relevance IS
'Comparable between queries; its basis is named in details ->> ''relevance_basis''. May be NULL.';
COMMENT ON COLUMN blend.search_result.document_id IS 'The document.';
COMMENT ON COLUMN blend.search_result.chunk_id IS 'The passage; changes when the text does.';
COMMENT ON COLUMN blend.search_result.collection IS 'Name of the collection.';
COMMENT ON COLUMN blend.search_result.uri IS 'Where the document came from.';
COMMENT ON COLUMN blend.search_result.title IS 'Title of the document.';
COMMENT ON COLUMN blend.search_result.snippet IS
'Best part of the passage as HTML: text escaped, matched words in <mark>.';
COMMENT ON COLUMN blend.search_result.content IS 'Text of the passage, as it was ingested.';
COMMENT ON COLUMN blend.search_result.start_line IS 'First line of the passage, from 1.';
COMMENT ON COLUMN blend.search_result.end_line IS 'Last line of the passage.';
COMMENT ON COLUMN blend.search_result.pages IS 'Pages that the passage touches.';
COMMENT ON COLUMN blend.search_result.metadata IS 'The document''s metadata and the passage''s.';
COMMENT ON COLUMN blend.search_result.source_key IS
'The document''s key within its collection: a path, a record''s id, a row''s key.';
COMMENT ON COLUMN blend.search_result.context_before IS 'Text before, where asked for.';
COMMENT ON COLUMN blend.search_result.context_after IS 'Text after, where asked for.';
COMMENT ON COLUMN blend.search_result.arms IS
'Per arm the rank and the raw score that this passage had there.';
COMMENT ON COLUMN blend.search_result.degraded IS
'What the search did without, and why; empty when nothing was missing.';
COMMENT ON COLUMN blend.search_result.details IS
'More about the row or the search: relevance_basis.';
