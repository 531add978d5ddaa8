-- A row to lock for each collection.

INSERT INTO pgblend_data.index_claim (collection_id, transaction_id)
SELECT c.id, '0' FROM pgblend_data.collection AS c;
INSERT INTO pgblend_data.vocabulary_lock (collection_id)
SELECT c.id FROM pgblend_data.collection AS c;
