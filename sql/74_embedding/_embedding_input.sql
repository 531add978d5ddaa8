-- _embedding_input: the text that is embedded for a chunk: its own, with its context before it.
-- 'title' gives "title: … | text: …", with the heading after the title where there is one;
-- 'summary' the document's summary, a line "---" and the text. 'none' gives the text alone, and so
-- does a chunk without title and heading, or without a summary. What a table's rows are to be read
-- with is before them in all.
CREATE OR REPLACE FUNCTION pgblend._embedding_input(
    prefix text,
    title text,
    heading text,
    content text,
    summary text,
    context text
)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN prefix = 'title' AND concat(title, heading) <> ''
        THEN format(
            'title: %s | text: %s',
            concat_ws(' > ', nullif(title, ''), nullif(heading, '')),
            concat_ws(E'\n', context, content)
        )
    WHEN prefix = 'summary' AND summary <> ''
        THEN format(E'%s\n---\n%s', summary, concat_ws(E'\n', context, content))
    ELSE concat_ws(E'\n', context, content)
END;
