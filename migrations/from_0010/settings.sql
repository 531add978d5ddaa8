-- Settings that 0.0.1 had and the next version does not know.

-- The history is of what people change: a release says what it changes itself. The file of the
-- trigger's function makes it again.
DROP TRIGGER profile_10_record_history ON pgblend_data.profile;
UPDATE pgblend_data.profile
SET settings = settings #- '{feedback,pool}' WHERE settings #> '{feedback,pool}' IS NOT NULL;
UPDATE pgblend_data.collection
SET settings = settings #- '{feedback,pool}' WHERE settings #> '{feedback,pool}' IS NOT NULL;
UPDATE pgblend_data.setting
SET value = value - 'pool' WHERE name = 'feedback' AND value ? 'pool';
UPDATE pgblend_data.setting
SET value = value - 'first_key' WHERE name = 'model_calls' AND value ? 'first_key';

-- Relevance was a cosine, or a reranker's score, and is a probability. What was set as the least
-- one would leave out other rows: it is taken out and named, to be set anew.
DO $do$
DECLARE
    stored record;
BEGIN
    FOR stored IN
        SELECT 'the database' AS place, s.value FROM pgblend_data.setting AS s
        WHERE s.name = 'min_relevance'
        UNION ALL
        SELECT 'profile "' || p.name || '"', p.settings -> 'min_relevance'
        FROM pgblend_data.profile AS p
        WHERE p.settings ? 'min_relevance'
        UNION ALL
        SELECT 'collection "' || c.name || '"', c.settings -> 'min_relevance'
        FROM pgblend_data.collection AS c
        WHERE c.settings ? 'min_relevance'
    LOOP
        RAISE WARNING 'min_relevance % of % was taken out: relevance is a probability now',
            stored.value, stored.place
            USING HINT = 'Look at relevance in some searches, then set it anew.';
    END LOOP;
END
$do$;
DELETE FROM pgblend_data.setting WHERE name = 'min_relevance';
UPDATE pgblend_data.profile SET settings = settings - 'min_relevance'
WHERE settings ? 'min_relevance';
UPDATE pgblend_data.collection SET settings = settings - 'min_relevance'
WHERE settings ? 'min_relevance';
