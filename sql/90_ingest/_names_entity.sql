-- _names_entity: whether a passage names an entity: its title, heading or text has the words of the
-- name one after the other, as its configuration parses them.
-- So Goethes is Goethe in German. A name of stop words only (The Who) is looked for as written.
-- `words` are title, heading and text, `lexemes` what is indexed of them. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._names_entity(
    config_name text,
    lexemes tsvector,
    words text,
    entity_name text
)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
SET client_min_messages = warning
AS $function$
DECLARE
    written text := pgblend._indexable_text(entity_name);
    phrase tsquery := phraseto_tsquery(pgblend._regconfig(config_name), written);
BEGIN
    IF numnode(phrase) = 0 THEN
        RETURN to_tsvector('simple', pgblend._indexable_text(words))
            @@ phraseto_tsquery('simple', written);
    END IF;
    RETURN lexemes @@ phrase;
END;
$function$;
