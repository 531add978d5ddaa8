-- _language_statistics: of each lexeme, how many visible, live chunks of its text search
-- configuration there are, and how many of them have it; documents, where by_document.
-- Exact integers, in the order of the lexemes. `reading` is that of _lexical_statistics.
CREATE OR REPLACE FUNCTION pgblend._language_statistics(
    collection_ids bigint[],
    config_names text[],
    lexemes text[],
    by_document boolean,
    deadline double precision DEFAULT 'infinity',
    reading uuid DEFAULT NULL,
    OUT n bigint[],
    OUT document_frequencies bigint[]
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.lexical.deadline import deadline_check
from pgblend.plpy.lexical.index import open_index
from pgblend.plpy.lexical.records import term_ids
from pgblend.plpy.lexical.statistics import count_languages
from pgblend.plpy.session import prepared_statements

run = prepared_statements(plpy.prepare, SD)
opened = open_index(run, GD, collection_ids, reading)
deadline_check(deadline, plpy.error)()
return count_languages(opened, config_names, term_ids(lexemes), by_document, run)
$python$;
