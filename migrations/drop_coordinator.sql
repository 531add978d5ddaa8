-- What a coordinator has beside one node's tables: where its shards are, who goes there, and the
-- tables that stand for theirs. The shards stay as they are.

DROP SERVER pgblend_shards CASCADE;
DROP SERVER pgblend_elsewhere CASCADE;
DROP FOREIGN DATA WRAPPER "documents are on the shards: see docs/shards.md, which";
