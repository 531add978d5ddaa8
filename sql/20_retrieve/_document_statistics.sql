-- _document_statistics: what BM25 of whole documents needs to know of the collections: exact
-- integers over visible, live chunks.
-- n documents that have chunks, their total length in lexeme occurrences (what chunks repeat counts
-- once), and per lexeme the number of documents that have it, in the order of the lexemes. Sealed
-- or pending makes no difference. `reading` is that of _lexical_statistics.
CREATE OR REPLACE FUNCTION pgblend._document_statistics(
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
from pgblend.plpy.lexical.documents import count_documents, joined_rows
from pgblend.plpy.lexical.index import open_index
from pgblend.plpy.lexical.records import term_ids
from pgblend.plpy.session import prepared_statements

check = deadline_check(deadline, plpy.error)
run = prepared_statements(plpy.prepare, SD)
opened = open_index(run, GD, collection_ids, reading)
check()
rows = joined_rows(opened, None, term_ids(lexemes), run)
check()
return count_documents(rows["postings"], rows["documents"], rows["alive"], rows["own_lengths"])
$python$;
