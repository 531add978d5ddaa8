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
