-- _chunk_index_text: trigger that fills a new chunk's lexemes from title, heading and text.
-- Weights are A, B and D; identifiers follow with weight C and "=" before them, which no parser
-- gives, and do not count for the length. A trigger, since a generated column cannot cast the
-- configuration's name, and the name is stored as text, since a regconfig column blocks pg_upgrade.
-- Words too long to be indexed are left out without a NOTICE.
CREATE OR REPLACE FUNCTION pgblend._chunk_index_text()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(NEW.text_search_config);
    title text := (SELECT d.title FROM pgblend_data.document AS d WHERE d.id = NEW.document_id);
    names tsvector;
BEGIN
    IF config IS NULL THEN
        RAISE EXCEPTION 'there is no text search configuration "%"', NEW.text_search_config
            USING ERRCODE = '22023', HINT = 'SELECT cfgname FROM pg_ts_config';
    END IF;
    NEW.lexemes :=
        setweight(to_tsvector(config, pgblend._indexable_text(title)), 'A')
        || setweight(
            to_tsvector(config, pgblend._indexable_text(coalesce(NEW.heading, ''))), 'B')
        || to_tsvector(config, pgblend._indexable_text(NEW.content));
    NEW.length := (
        SELECT coalesce(sum(cardinality(l.positions)), 0) FROM unnest(NEW.lexemes) AS l);
    names := pgblend._identifier_vector(concat_ws(' ', title, NEW.heading, NEW.content));
    IF names <> '' THEN
        NEW.lexemes := NEW.lexemes || names;
    END IF;
    RETURN NEW;
END;
$function$;

COMMENT ON FUNCTION pgblend._chunk_index_text() IS
'Trigger that fills a new chunk''s lexemes from title (weight A), heading (B), text (D) and the '
'identifiers in them (C).';
