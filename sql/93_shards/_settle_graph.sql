-- _settle_graph: bring the graph of a coordinator's shards up to date with some of what changed on
-- them; returns how many changes those were, 0 on one node.
CREATE OR REPLACE FUNCTION pgblend._settle_graph()
RETURNS bigint
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
RETURN 0;
