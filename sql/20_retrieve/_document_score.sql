-- _document_score: BM25 of the documents of one text search configuration that have any of the
-- lexemes, and the chunks that have them.
-- A document's frequencies and length are those of its chunks, what they repeat counted once.
-- Statistics are arguments: idf per lexeme, in their order, which is the order in which scores are
-- summed. At most `depth` documents, best first, ties by id. Of each, `every_chunk` gives all
-- chunks that have a lexeme, the best first (see plpy/lexical/documents.py), else only that one.
-- Reads segments and pending chunks under one snapshot, since it is STABLE, or has what
-- _document_statistics read in the same snapshot under `reading`.
CREATE OR REPLACE FUNCTION pgblend._document_score(
    collection_ids bigint[],
    config_name text,
    lexemes text[],
    idf double precision[],
    average_length double precision,
    k1 double precision,
    b double precision,
    field_weights double precision[],
    depth integer,
    every_chunk boolean,
    deadline double precision DEFAULT 'infinity',
    reading uuid DEFAULT NULL,
    OUT chunk_ids bigint[],
    OUT document_ids bigint[],
    OUT chunk_indexes integer[],
    OUT scores double precision[]
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $python$
import numpy as np
from pgblend.plpy.lexical.deadline import deadline_check
from pgblend.plpy.lexical.documents import chunks_of_documents, joined_rows, score_documents
from pgblend.plpy.lexical.index import open_index
from pgblend.plpy.lexical.records import term_ids
from pgblend.plpy.session import prepared_statements

check = deadline_check(deadline, plpy.error)
run = prepared_statements(plpy.prepare, SD)
opened = open_index(run, GD, collection_ids, reading)
check()
rows = joined_rows(opened, config_name, term_ids(lexemes), run)
check()
terms = (rows["postings"], rows["counts"], field_weights, idf, k1)
lengths = np.bincount(rows["documents"], rows["own_lengths"] * rows["alive"], len(rows["ids"]))
norms = k1 * (1 - b + b * lengths / average_length)
places, scores = score_documents(*terms, norms, rows["documents"], rows["alive"], depth, check)
best = np.lexsort((rows["ids"][places], -scores))[:depth]
chunks, order = chunks_of_documents(
    *terms, rows["documents"], rows["alive"], rows["chunk_indexes"], places[best])
if not every_chunk:
    firsts = np.unique(order, return_index=True)[1]
    chunks, order = chunks[firsts], order[firsts]
return (
    rows["chunk_ids"][chunks].tolist(), rows["document_ids"][chunks].tolist(),
    rows["chunk_indexes"][chunks].tolist(), scores[best][order].tolist())
$python$;
