-- _segment_score: BM25 of the chunks of one text search configuration that have any of the lexemes.
-- Statistics are arguments: idf per lexeme, in their order, which is the order in which scores are
-- summed. At most `depth` rows, best first, ties by (document, chunk index), as arrays: a row for
-- each would take four times as long. Reads segments and pending chunks under one snapshot, since
-- it is STABLE, or has what _lexical_statistics read in the same snapshot under `reading`. Only
-- chunks that pass the filter and the condition count, all where these are NULL: candidates are
-- checked by their ids, or, where few chunks pass a filter, these alone are scored.
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
    filter jsonb DEFAULT NULL,
    condition tsquery DEFAULT NULL,
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
from pgblend.plpy.filter.candidates import candidate_filter
from pgblend.plpy.lexical.deadline import deadline_check
from pgblend.plpy.lexical.index import open_index
from pgblend.plpy.lexical.records import array_record, term_ids
from pgblend.plpy.lexical.score import score_index
from pgblend.plpy.session import prepared_statements

check = deadline_check(deadline, plpy.error)
run = prepared_statements(plpy.prepare, SD.setdefault("plans", {}))
opened = open_index(run, GD, collection_ids, reading)
check()
formula = {
    "k1": k1, "b": b, "average_length": average_length, "field_weights": field_weights}
checked = candidate_filter(collection_ids, filter, condition, run)
return array_record(score_index(
    opened, config_name, term_ids(lexemes), idf, formula, depth, checked, run, check))
$python$;
