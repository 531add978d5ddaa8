-- _snippet: the best part of a passage as HTML: text escaped, words that match the query in <mark>.
-- A query without lexemes gives the beginning. Private-use characters stand for the marks and for
-- < > / \ and signs, which the parser must not see (as in _indexable_text), until all is escaped;
-- the text's own are taken out first. Passages without word spaces are marked as pairs and joined
-- again. A word too long to be indexed raises no NOTICE.
CREATE OR REPLACE FUNCTION pgblend._snippet(content text, query text, config_name text)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(config_name);
    query_words text := CASE
        WHEN query ~* '["-]|\mor\M' THEN pgblend._query_groups(query) ->> 'words'
        ELSE query END;  -- without operators there is nothing to parse
    words tsquery := pgblend._lexeme_tsquery(tsvector_to_array(to_tsvector(
        config, pgblend._indexable_text(coalesce(query_words, '')))));
    plain text := translate(
        content,
        U&'<>/\005C-\E000\E001\E002\E003\E004\E005\E006\001E\001F',
        U&'\E002\E003\E004\E005\E006');
    indexed text := pgblend._indexable_text(plain);
    marked text;
BEGIN
    IF indexed = plain THEN
        marked := coalesce(
            ts_headline(config, plain, words,
                U&'StartSel=\E000, StopSel=\E001, MaxWords=40, MinWords=20, MaxFragments=0'),
            array_to_string((regexp_split_to_array(btrim(plain), '\s+'))[:40], ' '));
    ELSE
        marked := coalesce(
            pgblend._join_bigrams(ts_headline(config, indexed, words,
                U&'StartSel=\E000, StopSel=\E001, MaxWords=100, MinWords=50, MaxFragments=0')),
            left(btrim(plain), 100));
    END IF;
    RETURN replace(replace(replace(replace(
        translate(
            replace(replace(marked, '&', '&amp;'), '"', '&quot;'),
            U&'\E004\E005\E006', '/\-'),
        U&'\E002', '&lt;'), U&'\E003', '&gt;'), U&'\E000', '<mark>'), U&'\E001', '</mark>');
END;
$function$;

COMMENT ON FUNCTION pgblend._snippet(text, text, text) IS
'The best part of a passage as HTML: text escaped, words that match the query in <mark>.';
