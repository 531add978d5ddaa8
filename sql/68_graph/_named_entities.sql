-- _names_entity: whether a passage names an entity: its title, heading or text has the words of the
-- name in a row.
-- The passage's configuration parses both, so Goethes is Goethe in German. A name of stop words
-- only (The Who) is looked for as written. `words` are title, heading and text, `lexemes` what is
-- indexed of them. NULL gives NULL.
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
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(config_name);
    phrase tsquery := phraseto_tsquery(config, pgblend._indexable_text(entity_name, config));
BEGIN
    IF numnode(phrase) = 0 THEN
        RETURN to_tsvector('simple', pgblend._indexable_text(words, 'simple'))
            @@ phraseto_tsquery('simple', pgblend._indexable_text(entity_name, 'simple'));
    END IF;
    RETURN lexemes @@ phrase;
END;
$function$;

-- _named_entities: passages of a collection that have no edges of a model, with what it found in
-- each, less the entities that the passage does not name; in the order of their ids.
-- They come after the passage `after`, and NULL `most` are all. No passage whose text had none.
CREATE OR REPLACE FUNCTION pgblend._named_entities(
    collection_id bigint,
    version text,
    after bigint,
    most integer
)
RETURNS TABLE (chunk_id bigint, document_id bigint, result jsonb)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT c.id, c.document_id, jsonb_set(x.result, '{entities}', coalesce((
        SELECT jsonb_agg(e.entity ORDER BY e.place)
        FROM jsonb_array_elements(x.result -> 'entities') WITH ORDINALITY AS e (entity, place)
        WHERE pgblend._names_entity(
            c.text_search_config, c.lexemes, concat_ws(' ', d.title, c.heading, c.content),
            e.entity ->> 'name')), '[]'))
    FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    INNER JOIN pgblend_data.entity_extraction AS x
        ON x.collection_id = c.collection_id AND x.content_hash = c.content_hash
            AND x.version = _named_entities.version
    WHERE c.collection_id = _named_entities.collection_id AND c.id > after
        AND jsonb_array_length(x.result -> 'entities') > 0
        AND NOT EXISTS (
            SELECT FROM pgblend_data.edge AS e
            WHERE e.chunk_id = c.id AND e.chunk_id <> 0 AND e.origin = 'model')
    ORDER BY c.id
    LIMIT most;
END;
$function$;
