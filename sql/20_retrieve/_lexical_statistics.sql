-- _lexical_statistics: what BM25 needs to know of the collections: exact integers over visible,
-- live chunks.
-- n chunks, their total length in lexeme occurrences, and per lexeme the number of chunks that have
-- it, in the order of the lexemes. Sealed or pending makes no difference.
-- Its statements always look rows up by key, so planning them anew each time would be lost time.
CREATE OR REPLACE FUNCTION pgblend._lexical_statistics(
    collection_ids bigint[],
    lexemes text[],
    deadline double precision DEFAULT 'infinity',
    OUT n bigint,
    OUT total_length bigint,
    OUT document_frequencies bigint[]
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $python$
#include plpy/bury_rows.py
#include plpy/count_lexemes.py
#include plpy/deadline_check.py
#include plpy/find_rows.py
#include plpy/lexical_view.py
#include plpy/session_view.py
#include plpy/term_ids.py
#include plpy/unpack_pending.py
#include plpy/unpack_segment.py
#include plpy/view_postings.py

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
    ["bigint[]", "text"], collection_ids, None)[0]
view = session_view(
    state["segment_ids"], state["versions"], GD.setdefault("pgblend_views", {}),
    fetch_segments, unpack_segment, lexical_view)
check()
postings = view_postings(view, terms, fetch_postings)
check()
return count_lexemes(
    view, postings, bury_rows(view, state["tombstones"], find_rows), unpack_pending(state), terms)
$python$;

COMMENT ON FUNCTION pgblend._lexical_statistics(bigint[], text[], double precision) IS
'What BM25 needs to know of the collections: n chunks, their total length in lexeme occurrences, '
'and per lexeme the number of chunks that have it. Exact integers over visible, live chunks.';
