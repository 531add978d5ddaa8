-- Passages were joined to entities that they do not name; what the model said is kept.

DO $do$
DECLARE
    linked record;
BEGIN
    FOR linked IN
        SELECT DISTINCT e.collection_id, e.metadata ->> 'version' AS version
        FROM pgblend_data.edge AS e
        WHERE e.origin = 'model'
    LOOP
        UPDATE pgblend_data.edge AS e
        SET metadata = e.metadata - 'version'
        WHERE e.collection_id = linked.collection_id AND e.origin = 'model';
        PERFORM pgblend._link_entities(linked.collection_id, linked.version);
    END LOOP;
END
$do$;
