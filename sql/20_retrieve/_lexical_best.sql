-- _lexical_best: the best chunks for lexemes of one text search configuration, by statistics of the
-- collections.
-- What _lexical_statistics, _bm25_idf and _segment_score give one after the other, in one reading
-- of the index and half of the time. boosts are how many times its idf a lexeme weighs. At most
-- `depth` chunks that pass the filter and the condition, where these are not NULL, best first, ties
-- by (document, chunk index); perfect_score is what no chunk can reach; total_length, of all chunks
-- in lexeme occurrences, is 0 where there are none. PB009 where timeout_ms are over: they begin
-- when the index is open, since what a session reads and compiles once counts against no limit.
CREATE OR REPLACE FUNCTION pgblend._lexical_best(
    collection_ids bigint[],
    config_name text,
    lexemes text[],
    boosts double precision[],
    k1 double precision,
    b double precision,
    field_weights double precision[],
    filter jsonb,
    condition tsquery,
    depth integer,
    timeout_ms integer,
    OUT chunk_ids bigint[],
    OUT document_ids bigint[],
    OUT chunk_indexes integer[],
    OUT scores double precision[],
    OUT perfect_score double precision,
    OUT total_length bigint
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.filter.candidates import candidate_filter
from pgblend.plpy.lexical.deadline import arm_deadline, deadline_check
from pgblend.plpy.lexical.index import open_index
from pgblend.plpy.lexical.postings import view_postings
from pgblend.plpy.lexical.records import array_record, term_ids
from pgblend.plpy.lexical.score import score_index
from pgblend.plpy.lexical.statistics import count_lexemes, lexeme_idf
from pgblend.plpy.session import prepared_statements

handed = GD.get("pgblend_handed", {})  # between this and a search's own Python
run = prepared_statements(plpy.prepare, SD.setdefault("plans", {}))
opened = open_index(run, GD, collection_ids, None)
check = deadline_check(arm_deadline(timeout_ms, handed, plpy.error), plpy.error)
terms = term_ids(lexemes)
n, length, df = count_lexemes(
    opened["live"], view_postings(opened["view"], terms, run), opened["pending"], terms)
handed["every_word"] = all(
    count for lexeme, count in zip(lexemes, df) if not lexeme.startswith("=="))
if not length:
    return array_record(([], [], [], []), 0.0, 0)
idf = [lexeme_idf(*each, n) * boost for *each, boost in zip(lexemes, df, boosts)]
formula = {"k1": k1, "b": b, "average_length": length / n, "field_weights": field_weights}
checked = candidate_filter(collection_ids, filter, condition, run)
best = score_index(opened, config_name, terms, idf, formula, depth, checked, run, check)
if "columns" in handed:
    handed["columns"], best = best, ([], [], [], [])
return array_record(best, sum(idf) * (k1 + 1), length)
$python$;
