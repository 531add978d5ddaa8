-- _segment_score: BM25 of the chunks of one text search configuration that have any of the lexemes.
-- Statistics are arguments: idf per lexeme, in their order, which is the order in which scores are
-- summed. At most `depth` rows, best first, ties by (document, chunk index), as arrays: a row for
-- each would take four times as long. Reads segments and pending chunks under one snapshot, since
-- it is STABLE.
-- Its statements always look rows up by key, so planning them anew each time would be lost time.
CREATE OR REPLACE FUNCTION pgblend._segment_score(
    collection_ids bigint[],
    config_name text,
    lexemes text[],
    idf double precision[],
    average_length double precision,
    k1 double precision,
    b double precision,
    field_weights double precision[],
    depth integer,
    deadline double precision DEFAULT 'infinity',
    OUT chunk_ids bigint[],
    OUT document_ids bigint[],
    OUT chunk_indexes integer[],
    OUT scores double precision[]
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $python$
#include plpy/add_pending.py
#include plpy/best_chunks.py
#include plpy/bury_rows.py
#include plpy/deadline_check.py
#include plpy/find_rows.py
#include plpy/lexical_view.py
#include plpy/row_norms.py
#include plpy/score_postings.py
#include plpy/session_view.py
#include plpy/term_ids.py
#include plpy/unpack_pending.py
#include plpy/unpack_segment.py
#include plpy/view_postings.py
import numpy as np

def run(query, types, *values):
    if query not in SD:
        SD[query] = plpy.prepare(query, types)
    return SD[query].execute(list(values))

def fetch_segments(ids):
    return run("SELECT * FROM pgblend._segment_arrays($1)", ["bigint[]"], ids)

def fetch_postings(wanted):
    return run(
        "SELECT segment_id, term, ordinals, codes FROM pgblend_data.posting"
        " WHERE segment_id = ANY($1) AND term = ANY($2)",
        ["bigint[]", "bigint[]"], state["segment_ids"], wanted)

check = deadline_check(deadline, plpy.error)
terms = term_ids(lexemes)
state = run(
    "SELECT * FROM pgblend._lexical_state($1, $2)",
    ["bigint[]", "text"], collection_ids, config_name)[0]
view = session_view(
    state["segment_ids"], state["versions"], GD.setdefault("pgblend_views", {}),
    fetch_segments, unpack_segment, lexical_view)
check()
buried = bury_rows(view, state["tombstones"], find_rows)
pending = unpack_pending(state)
postings, occurrences = add_pending(
    view, view_postings(view, terms, fetch_postings), pending, terms)
check()
lengths = view["lengths"]
norms = row_norms(view, k1, b, average_length)
if len(buried):
    norms = norms.copy()
    norms[buried] = np.inf
if pending is not None:
    lengths = np.concatenate((lengths, pending["lengths"]))
    later = k1 * (1 - b + b * pending["lengths"] / average_length)
    norms = np.concatenate((norms, later.astype(np.float32)))

def exact_norms(rows):
    return k1 * (1 - b + b * lengths[rows] / average_length)

rows, scores = score_postings(
    postings, occurrences @ np.array(field_weights * 2, np.float64), idf, k1, norms, exact_norms,
    depth, check)
return best_chunks(view, pending, rows, scores, depth)
$python$;

COMMENT ON FUNCTION pgblend._segment_score(
    bigint[], text, text[], double precision[],
    double precision, double precision, double precision, double precision[], integer,
    double precision
) IS
'BM25 of the chunks of one text search configuration that have any of the lexemes (Robertson and '
'Zaragoza 2009, idf of Lucene, fields weighted as in BM25F). Statistics are arguments. At most '
'depth rows, best first, ties by (document, chunk index).';
