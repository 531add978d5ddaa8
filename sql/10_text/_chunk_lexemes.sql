-- _index_parts: title, heading, content and its part before own_start as the parser gets them,
-- what the headings within add to it, and identifiers and single syllables of all as a tsvector's
-- text.
-- One call for a chunk, where six cost more than to_tsvector itself. NULL own_headings are those
-- that Markdown marks in content; NULL of others gives an error.
CREATE OR REPLACE FUNCTION pgblend._index_parts(
    title text,
    heading text,
    content text,
    own_start integer,
    config_name text,
    own_headings text
)
RETURNS text[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.lexical.words import index_parts

return index_parts(title, heading, content, own_start, config_name, own_headings)
$python$;

-- _name_lexemes: the lexemes of a document's names, for its first chunk: weight C, whole names with
-- "==" before them, which no parser gives, and words that the title lacks.
-- Whole names are at position 1, so that no phrase goes from the text before into the words. A key
-- that is a number or a code gives none. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._name_lexemes(
    config regconfig,
    source_key text,
    title_words tsvector
)
RETURNS tsvector
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET client_min_messages = warning
AS $python$
from pgblend.plpy.lexical.forms import name_field

LEXEMES = """
    SELECT setweight(
        array_to_string(ARRAY(
            SELECT '''==' || replace(replace(n.name, '\\', '\\\\'), '''', '''''') || ''':1'
            FROM unnest($3) AS n (name)), ' ')::tsvector
        || ts_delete(
            to_tsvector($1, pgblend._indexable_text($2, $1)), tsvector_to_array($4)),
        'C') AS lexemes"""

words, *names = name_field(source_key)
if not names:
    return ""
types = ["regconfig", "text", "text[]", "tsvector"]
return db.run(LEXEMES, types, config, words, names, title_words)[0]["lexemes"]
$python$;

-- _chunk_lexemes: one row: the lexemes of a chunk, from title, heading and text, and the last
-- position among them that repeats the chunk before.
-- Weights are A, B and D; identifiers follow with weight C and "=" before them, which no parser
-- gives, and single syllables of scripts without word spaces. Words that its context alone has
-- stand before all others, with weight C: they count for no length. Up to own_position stands what
-- the document has already from the chunks before: the context, the title, a heading that goes on,
-- and the text before own_start. What own_headings add (heading_words) stands after the text, with
-- weight C; NULL are the headings that Markdown marks in content. A document's names
-- (_name_lexemes) are its first chunk's alone.
-- NULL, but of heading, context and own_headings, gives NULL lexemes. Words too long to be indexed
-- are left out with a NOTICE, which the caller keeps back.
CREATE OR REPLACE FUNCTION pgblend._chunk_lexemes(
    config regconfig,
    source_key text,
    title text,
    heading text,
    heading_goes_on boolean,
    content text,
    own_start integer,
    chunk_index integer,
    context text,
    own_headings text,
    OUT lexemes tsvector,
    OUT own_position integer
)
RETURNS record
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    texts text[] := CASE WHEN num_nulls(config, title, content, own_start) = 0 THEN
        pgblend._index_parts(
            title, coalesce(heading, ''), content, own_start, config::text, own_headings)
        END;
    title_words tsvector := setweight(to_tsvector(config, texts[1]), 'A');
    heading_words tsvector := '';
    body_words tsvector := to_tsvector(config, texts[3]);
    names tsvector := '';
    around tsvector := '';
    within tsvector := '';
    repeated tsvector;
BEGIN
    IF texts[2] <> '' THEN
        heading_words := setweight(to_tsvector(config, texts[2]), 'B');
    END IF;
    -- Words that the chunk lacks, before all others: after the first chunk they are repeated.
    IF context IS NOT NULL THEN
        around := setweight(ts_delete(
            to_tsvector(config, pgblend._indexable_text(context, config)),
            tsvector_to_array(title_words || heading_words || body_words)), 'C');
    END IF;
    own_position := 0;
    IF chunk_index > 0 THEN
        repeated := around || title_words;
        IF heading_goes_on THEN
            repeated := repeated || heading_words;
        ELSE
            body_words := body_words || heading_words;
            heading_words := '';
        END IF;
        IF own_start > 0 THEN
            repeated := repeated || to_tsvector(config, texts[4]);
        END IF;
        own_position := coalesce((
            SELECT max(l.positions[cardinality(l.positions)]) FROM unnest(repeated) AS l), 0);
    ELSE
        names := pgblend._name_lexemes(config, source_key, title_words);
    END IF;
    -- No phrase goes from the text into them: "=" leaves its place empty.
    IF texts[5] <> '' THEN
        within := ts_delete(
            '=:1'::tsvector || setweight(to_tsvector(config, texts[5]), 'C'), '=');
    END IF;
    lexemes := around || title_words || heading_words || body_words || within
        || texts[6]::tsvector || names;
END;
$function$;
