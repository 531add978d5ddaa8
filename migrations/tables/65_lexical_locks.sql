-- Who works on a lexical index. Advisory locks are anybody's, so these are rows: a claim on the
-- index is its row's lock; so is that on the vocabulary, which routines of the owner take alone.

CREATE TABLE pgblend_data.index_claim (
    collection_id bigint NOT NULL,
    transaction_id xid8 NOT NULL,
    CONSTRAINT index_claim_pkey PRIMARY KEY (collection_id),
    CONSTRAINT index_claim_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.index_claim IS
'The transaction that last wrote a collection''s lexical index. Only who may write to the '
'collection may name its own, and what writes the index asks for that.';

CREATE TABLE pgblend_data.vocabulary_lock (
    collection_id bigint NOT NULL,
    CONSTRAINT vocabulary_lock_pkey PRIMARY KEY (collection_id),
    CONSTRAINT vocabulary_lock_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE
);
COMMENT ON TABLE pgblend_data.vocabulary_lock IS
'Rows to lock: shared by who adds words to a collection''s vocabulary, alone by who makes it anew. '
'Only routines of the owner do.';
ALTER TABLE pgblend_data.vocabulary_lock ENABLE ROW LEVEL SECURITY;
