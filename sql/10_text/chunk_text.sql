-- _chunk_immutable: trigger that lets a chunk's metadata and counts of tokens change, and nothing
-- else.
-- (content_hash is generated after this trigger.) Whatever is derived from a chunk (postings,
-- vectors) is found by its id, so new text needs a new id.
CREATE OR REPLACE FUNCTION pgblend._chunk_immutable()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    others text[] := '{metadata, token_count, piece_tokens, lexemes, content_hash}';
BEGIN
    IF to_jsonb(NEW) - others <> to_jsonb(OLD) - others OR NEW.lexemes <> OLD.lexemes
    THEN
        RAISE EXCEPTION 'chunk % is immutable: only metadata and counts of tokens can be updated',
            OLD.id
            USING ERRCODE = '0A000',
            HINT = 'Replace the document: SELECT * FROM blend.ingest_document(…)';
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_20_immutable BEFORE UPDATE ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_immutable();

-- _index_parts: title, heading, content and its part before own_start as the parser gets them, and
-- the identifiers of all as a tsvector's text.
-- One call for a chunk, where five cost more than to_tsvector itself. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._index_parts(
    title text,
    heading text,
    content text,
    own_start integer
)
RETURNS text[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.words import index_parts

return index_parts(title, heading, content, own_start)
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
from pgblend.plpy.session import prepared_statements
from pgblend.plpy.text.identifiers import name_field

LEXEMES = """
    SELECT setweight(
        array_to_string(ARRAY(
            SELECT '''==' || replace(replace(n.name, '\\', '\\\\'), '''', '''''') || ''':1'
            FROM unnest($3) AS n (name)), ' ')::tsvector
        || ts_delete(
            to_tsvector($1, pgblend._indexable_text($2)), tsvector_to_array($4)),
        'C') AS lexemes"""

words, *names = name_field(source_key)
if not names:
    return ""
run = prepared_statements(plpy.prepare, SD)
types = ["regconfig", "text", "text[]", "tsvector"]
return run(LEXEMES, types, config, words, names, title_words)[0]["lexemes"]
$python$;

-- _chunk_index_text: trigger that fills a new chunk's lexemes from title, heading and text.
-- Weights are A, B and D. Identifiers follow with weight C and "=" before them, which no parser
-- gives; they do not count for the length. Up to own_position stands what the document has already
-- from the chunks before. That is the title, a heading that goes on, and the text before
-- own_start. A document's names (_name_lexemes) are its first chunk's alone, and do not count for
-- the length.
-- A trigger, since a generated column cannot cast the configuration's name, and the name is stored
-- as text, since a regconfig column blocks pg_upgrade. Words too long to be indexed are left out
-- without a NOTICE. Without a repetition, occurrences are counted by bytes: each takes two in the
-- binary form.
CREATE OR REPLACE FUNCTION pgblend._chunk_index_text()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET client_min_messages = warning
SET enable_seqscan = off
SET jit = off
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(NEW.text_search_config);
    document_title text;
    source_key text;
    heading_goes_on boolean;
    title_words tsvector := '';
    heading_words tsvector := '';
    body_words tsvector;
    repeated_words tsvector := '';
    parts text[];
BEGIN
    IF config IS NULL THEN
        PERFORM pgblend._check_text_search_config(NEW.text_search_config);
    END IF;
    SELECT d.title, d.source_key, NEW.chunk_index > 0 AND NEW.heading IS NOT NULL AND NEW.heading = (
        SELECT c.heading FROM pgblend_data.chunk AS c
        WHERE c.document_id = NEW.document_id AND c.chunk_index = NEW.chunk_index - 1)
    INTO document_title, source_key, heading_goes_on
    FROM pgblend_data.document AS d
    WHERE d.id = NEW.document_id;
    parts := pgblend._index_parts(
        coalesce(document_title, ''), coalesce(NEW.heading, ''), NEW.content, NEW.own_start);
    title_words := setweight(to_tsvector(config, parts[1]), 'A');
    IF parts[2] <> '' THEN
        heading_words := setweight(to_tsvector(config, parts[2]), 'B');
    END IF;
    body_words := to_tsvector(config, parts[3]);
    IF NEW.chunk_index = 0 THEN
        NEW.lexemes := title_words || heading_words || body_words;
    ELSE
        IF heading_goes_on THEN
            title_words := title_words || heading_words;
            heading_words := '';
        END IF;
        repeated_words := title_words;
        IF NEW.own_start > 0 THEN
            repeated_words := repeated_words || to_tsvector(config, parts[4]);
        END IF;
        NEW.lexemes := title_words || body_words || heading_words;
    END IF;
    NEW.length := (octet_length(tsvectorsend(NEW.lexemes))
        - octet_length(tsvectorsend(strip(NEW.lexemes)))) / 2;
    IF repeated_words = '' THEN
        NEW.own_position := 0;
        NEW.own_length := NEW.length;
    ELSE
        NEW.own_position := (
            SELECT coalesce(max(l.positions[cardinality(l.positions)]), 0)
            FROM unnest(repeated_words) AS l);
        SELECT coalesce(sum(CASE
            WHEN l.positions[1] > NEW.own_position THEN cardinality(l.positions)
            ELSE (SELECT count(*) FROM unnest(l.positions) AS p WHERE p > NEW.own_position)
        END), 0)
        INTO NEW.own_length
        FROM unnest(NEW.lexemes) AS l
        WHERE l.positions[cardinality(l.positions)] > NEW.own_position;
    END IF;
    IF parts[5] <> '' THEN
        NEW.lexemes := NEW.lexemes || parts[5]::tsvector;
    END IF;
    IF NEW.chunk_index = 0 THEN
        NEW.lexemes := NEW.lexemes || pgblend._name_lexemes(config, source_key, title_words);
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_10_index_text BEFORE INSERT ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_index_text();
