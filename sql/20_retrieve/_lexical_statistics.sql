-- _lexical_statistics: what BM25 needs to know of the collections: exact integers over visible,
-- live chunks.
-- n chunks, their total length in lexeme occurrences, and per lexeme the number of chunks that have
-- it, in the order of the lexemes. Sealed or pending makes no difference. What is read is kept for
-- _lexical_score in the same snapshot, under `reading`: a random number that the caller makes for
-- both, and tells nobody.
-- Its statements always look rows up by key, so planning them anew each time would be lost time.
CREATE OR REPLACE FUNCTION pgblend._lexical_statistics(
    collection_ids bigint[],
    lexemes text[],
    deadline double precision DEFAULT 'infinity',
    reading uuid DEFAULT NULL,
    OUT n bigint,
    OUT total_length bigint,
    OUT document_frequencies bigint[]
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.lexical.deadline import deadline_check
from pgblend.plpy.lexical.index import open_index
from pgblend.plpy.lexical.postings import view_postings
from pgblend.plpy.lexical.records import term_ids
from pgblend.plpy.lexical.statistics import count_lexemes
from pgblend.plpy.session import prepared_statements

check = deadline_check(deadline, plpy.error)
run = prepared_statements(plpy.prepare, SD)
opened = open_index(run, GD, collection_ids, reading)
check()
terms = term_ids(lexemes)
postings = view_postings(opened["view"], terms, run)
check()
return count_lexemes(opened["live"], postings, opened["pending"], terms)
$python$;
