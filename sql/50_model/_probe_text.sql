-- _probe_text: the text that a model is asked about, to know it again.
CREATE OR REPLACE FUNCTION pgblend._probe_text()
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN 'How many dimensions has a vector of this model?';
