-- _renew_lexemes: make the lexemes of a collection's chunks anew from their texts, where the rules
-- of words or dictionaries are others by now; 1 where chunks are left after this block, else 0.
-- A block is 2,000 ids, the first is 0, so that each may be a transaction of its own. Segments and
-- vocabulary keep the words from before until lexical_rebuild. Chunks whose text search
-- configuration is not there any more stay as they are.
CREATE OR REPLACE FUNCTION pgblend._renew_lexemes(collection text, block bigint)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._writable_collection(collection);
BEGIN
    UPDATE pgblend_data.chunk AS c
    SET lexemes = ''
    FROM (
        SELECT o.id
        FROM pgblend_data.chunk AS o
        WHERE o.id BETWEEN block * 2000 AND block * 2000 + 1999 AND o.collection_id = target.id
            AND pgblend._regconfig(o.text_search_config) IS NOT NULL
        ORDER BY o.id
        FOR NO KEY UPDATE
    ) AS n
    WHERE c.id = n.id;
    RETURN EXISTS (
        SELECT FROM pgblend_data.chunk AS c
        WHERE c.id >= (block + 1) * 2000 AND c.collection_id = target.id)::integer;
END;
$function$;

-- _uncontrolled: text without commands of terminals (colours) and control characters
-- (plpy/lexical/forms.py). NULL gives NULL. One expression and not STRICT, so that it is inlined.
CREATE OR REPLACE FUNCTION pgblend._uncontrolled(content text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL UNSAFE
RETURN CASE
    WHEN content ~ U&'[\0001-\0008\000B\000C\000E-\001F\007F-\009F]|\000D(?!\000A)'
        THEN pgblend._without_controls(content)
    ELSE content
END;

-- _without_controls: _uncontrolled of text that has control characters. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._without_controls(content text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.forms import uncontrolled

return uncontrolled(content)
$python$;

-- _uncontrolled_json: JSON whose keys and texts are _uncontrolled; numbers stay as written.
-- Written as text it has escapes for all but DEL and what follows it: few values have any. 22023
-- where programs would not read it (_unreadable_json).
CREATE OR REPLACE FUNCTION pgblend._uncontrolled_json(given jsonb)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL UNSAFE
RETURN CASE
    WHEN pgblend._unreadable_json(given) IS NOT NULL THEN pgblend._refuse_json(given)
    WHEN given::text ~ U&'\\\\(u00|[bfr])|[\007F-\009F]'
        THEN pgblend._json_without_controls(given)
    ELSE given
END;

-- _json_without_controls: _uncontrolled_json of JSON that has control characters.
CREATE OR REPLACE FUNCTION pgblend._json_without_controls(given jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.forms import uncontrolled_json

return uncontrolled_json(given)
$python$;

-- _refuse_json: raise why programs would not read metadata (_unreadable_json).
CREATE OR REPLACE FUNCTION pgblend._refuse_json(given jsonb)
RETURNS jsonb
LANGUAGE plpgsql
IMMUTABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RAISE EXCEPTION 'metadata %', pgblend._unreadable_json(given)
        USING ERRCODE = '22023', DETAIL = format('It begins with %s', left(given::text, 100)),
            HINT = 'Store what is deeper or longer as a text.';
END;
$function$;

-- _unreadable_json: why programs would not read JSON that PostgreSQL does; NULL where they would.
-- Python reads whole numbers to 4,300 digits, and others to 1e308. Tables check the same.
CREATE OR REPLACE FUNCTION pgblend._unreadable_json(given jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN jsonb_path_exists(given, '$.**{100}') THEN 'is nested more than 100 deep'
    WHEN octet_length(given::text) < 308 THEN NULL
    WHEN jsonb_path_exists(given, '$.** ? (@.type() == "number" && @.abs() >= 1e4300)')
        THEN 'has a number of more than 4,300 digits'
    WHEN jsonb_path_exists(
        given, '$.** ? (@.type() == "number" && @.abs() >= 1e308 && @.floor() != @)')
        THEN 'has a number with a fraction beyond 1e308'
END;

-- _snippets: the best part of each passage as HTML, at most 250 characters: text escaped, words
-- that match its query in <mark>.
-- The arrays have an element for each passage. A query without lexemes gives the beginning.
CREATE OR REPLACE FUNCTION pgblend._snippets(
    contents text[],
    queries text[],
    config_names text[]
)
RETURNS text[]
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.lexical.snippets import Sought, page_snippets

sought = [Sought(query) for query in queries]
return page_snippets(db, contents, sought, config_names)
$python$;

-- _chunk_immutable: trigger that lets a chunk's metadata and counts of tokens change, and nothing
-- else. Lexemes may be emptied: the next trigger makes them anew from the text.
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
    IF to_jsonb(NEW) - others <> to_jsonb(OLD) - others OR NEW.lexemes NOT IN (OLD.lexemes, '')
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

-- _chunk_index_text: trigger that makes a new chunk's lexemes, whatever came with it, and those of
-- one whose lexemes are emptied: what stays the same is not written.
-- A trigger, since a generated column cannot cast the configuration's name, and the name is stored
-- as text, since a regconfig column blocks pg_upgrade. It sees the chunk before, also where the
-- same statement inserts that. Text before own_start counts as repeated where the chunk before
-- ends with it; else own_start becomes 0, but in the first chunk. The document is locked as its
-- foreign key will lock it, so that who renames it meanwhile waits, or is waited for
-- (_document_keeps_names). Words too long to be indexed are left out without a NOTICE.
CREATE OR REPLACE FUNCTION pgblend._chunk_index_text()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET client_min_messages = warning
SET enable_seqscan = off
SET jit = off
AS $function$
DECLARE
    no_words CONSTANT text := E' \t\r\n.,;:!?';
    repeated text := rtrim(left(NEW.content, NEW.own_start), no_words);
    config regconfig;
    named record;
    words record;
    heading_goes_on boolean := false;
    is_repeated boolean := NEW.chunk_index <= 0;  -- the first counts as its own in any case
BEGIN
    -- The configuration in the same look: _regconfig costs as much as all else here.
    IF TG_OP = 'INSERT' THEN
        SELECT d.source_key, d.title, (
            SELECT c.oid FROM pg_catalog.pg_ts_config AS c
            WHERE c.cfgname = NEW.text_search_config
                AND pg_catalog.pg_ts_config_is_visible(c.oid)) AS config
        INTO named
        FROM pgblend_data.document AS d
        WHERE d.id = NEW.document_id
        FOR KEY SHARE OF d;
        config := named.config;
    ELSE
        SELECT d.source_key, d.title INTO named FROM pgblend_data.document AS d
        WHERE d.id = NEW.document_id;
    END IF;
    IF config IS NULL THEN
        PERFORM pgblend._check_text_search_config(NEW.text_search_config);
        config := pgblend._regconfig(NEW.text_search_config);
    END IF;
    IF NEW.chunk_index > 0 THEN
        SELECT
            c.heading = NEW.heading,
            NEW.own_start > 0 AND right(rtrim(c.content, no_words), length(repeated)) = repeated
        INTO heading_goes_on, is_repeated
        FROM pgblend_data.chunk AS c
        WHERE c.document_id = NEW.document_id AND c.chunk_index = NEW.chunk_index - 1;
    END IF;
    IF is_repeated IS NOT TRUE THEN
        NEW.own_start := 0;
    END IF;
    words := pgblend._chunk_lexemes(
        config, coalesce(named.source_key, ''), coalesce(named.title, ''), NEW.heading,
        heading_goes_on, NEW.content, NEW.own_start, NEW.chunk_index, NEW.context,
        NEW.own_headings);
    NEW.lexemes := words.lexemes;
    NEW.own_position := words.own_position;
    IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - 'content_hash' = to_jsonb(OLD) - 'content_hash' THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_10_index_text BEFORE INSERT ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_index_text();

CREATE OR REPLACE TRIGGER chunk_25_renew_words BEFORE UPDATE OF lexemes ON pgblend_data.chunk
FOR EACH ROW WHEN (new.lexemes = '') EXECUTE FUNCTION pgblend._chunk_index_text();

-- _document_gains_chunks: trigger by which a document that gains chunks is a new row version.
-- Under REPEATABLE READ, who renames it sees no chunk that was committed after the snapshot, and
-- who adds chunks sees the name before: of a new version both hear that it was changed (40001).
-- A document that this transaction has written itself is one already: xmin says so but of one that
-- a subtransaction wrote, as each ingest does, and ingested_at then.
CREATE OR REPLACE FUNCTION pgblend._document_gains_chunks()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    ids bigint[] := ARRAY(
        SELECT d.id FROM pgblend_data.document AS d
        WHERE d.id = ANY(ARRAY(SELECT n.document_id FROM new_chunk AS n))
            AND d.xmin <> pg_current_xact_id()::xid
            AND d.ingested_at <> now()
        ORDER BY d.id);
BEGIN
    IF ids <> '{}' THEN
        UPDATE pgblend_data.document AS d SET ingested_at = d.ingested_at WHERE d.id = ANY(ids);
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_15_document_gains AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_gains_chunks();

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
    ELSIF source_key !~ '^[0-9]*$' THEN  -- a number has no names
        names := pgblend._name_lexemes(config, source_key, title_words);
    END IF;
    -- No phrase goes from the text into them: "=" leaves its place empty.
    IF texts[5] <> '' THEN
        within := ts_delete(
            '=:1'::tsvector || setweight(to_tsvector(config, texts[5]), 'C'), '=');
    END IF;
    -- The longest is copied twice so, and not six times.
    lexemes := (around || title_words || heading_words) || body_words
        || (within || texts[6]::tsvector || names);
END;
$function$;

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
from pgblend.plpy.lexical.forms import word_form
from pgblend.plpy.lexical.words import name_field, syllables

LEXEMES = """
    SELECT setweight(
        array_to_string(ARRAY(
            SELECT '''==' || replace(
                replace(n.name, E'\\\\', E'\\\\\\\\'), '''', '''''') || ''':1'
            FROM unnest($3) AS n (name)), ' ')::tsvector
        || ts_delete(
            to_tsvector($1, pgblend._indexable_text($2, $1)), tsvector_to_array($4)),
        'C') AS lexemes"""

words, *names = name_field(source_key)
if not names:
    return ""
words = " ".join([words, *syllables(word_form(words), 2)])  # of pairs, the single ones as well
types = ["regconfig", "text", "text[]", "tsvector"]
return db.run(LEXEMES, types, config, words, names, title_words)[0]["lexemes"]
$python$;

-- _indexable_text: text as the parser gets it under a configuration, for chunks and queries alike
-- (plpy/lexical/words.py).
-- Plain text, which most queries are, pays for no call: in it, only the characters < > / \ - become
-- spaces. NULL gives NULL. One expression and not STRICT, so that it is inlined and needs no plan
-- of its own.
CREATE OR REPLACE FUNCTION pgblend._indexable_text(content text, config regconfig)
RETURNS text
LANGUAGE sql
STABLE PARALLEL UNSAFE
RETURN CASE
    WHEN
        content ~ E'[^\\n -~]|\\w\\.\\w|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|\\m[vV]\\d'
        OR content ~ E'\\d ?[A-Za-z]{1,4}\\M|\\d[,''_ ]\\d'
        OR (content ~ 'I' AND config::text ~ '(^|[._])(turk|azer|tr_|az_)')
        THEN pgblend._parser_text(content, config::text)
    ELSE translate(content, E'<>/\\-', '     ')
END;

-- _parser_text: _indexable_text of text that is not plain. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._parser_text(content text, config_name text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.words import indexable_text

return indexable_text(content, config_name)
$python$;

-- _document_keeps_names: trigger that keeps a document's title and key while it has chunks, whose
-- lexemes are of them.
-- Who adds chunks meanwhile is waited for, and waits (_chunk_index_text, _document_gains_chunks).
CREATE OR REPLACE FUNCTION pgblend._document_keeps_names()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM FROM pgblend_data.document AS d WHERE d.id = OLD.id FOR UPDATE;
    IF EXISTS (SELECT FROM pgblend_data.chunk AS c WHERE c.document_id = OLD.id) THEN
        RAISE EXCEPTION 'title and key of document % are words of its chunks: they stay', OLD.id
            USING ERRCODE = '0A000',
            HINT = 'Replace the document: SELECT * FROM blend.ingest_document(…)';
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER document_05_keep_names
BEFORE UPDATE OF title, source_key ON pgblend_data.document
FOR EACH ROW WHEN (
    new.title <> old.title OR new.source_key <> old.source_key
) EXECUTE FUNCTION pgblend._document_keeps_names();

-- _check_language: trigger that refuses a text search configuration that does not exist.
CREATE OR REPLACE FUNCTION pgblend._check_language()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._check_text_search_config(NEW.text_search_config);
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER collection_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();
CREATE OR REPLACE TRIGGER collection_language_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.collection_language
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();
-- New documents are checked once a statement, since few of them differ (_document_record_language).
CREATE OR REPLACE TRIGGER document_05_check_language
BEFORE UPDATE OF text_search_config ON pgblend_data.document
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();

-- _document_record_language: trigger that notes which text search configurations a collection uses.
-- Sessions that are the first with one note it each, and none waits for another. One that is noted
-- already is not checked here: it may have been dropped since. New documents are checked.
CREATE OR REPLACE FUNCTION pgblend._document_record_language()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM pgblend._check_text_search_config(n.text_search_config)
        FROM (SELECT DISTINCT d.text_search_config FROM new_document AS d) AS n;
    END IF;
    INSERT INTO pgblend_data.collection_language (collection_id, text_search_config)
    SELECT DISTINCT n.collection_id, n.text_search_config
    FROM new_document AS n
    WHERE NOT EXISTS (
        SELECT FROM pgblend_data.collection_language AS l
        WHERE l.collection_id = n.collection_id AND l.text_search_config = n.text_search_config
        OFFSET 0);
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_10_record_language AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_language();
CREATE OR REPLACE TRIGGER document_10_record_other_language AFTER UPDATE ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_language();
