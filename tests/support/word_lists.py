"""The arms alone, as functions in the database that tests call."""

import psycopg

from support.program import loading

_FUNCTIONS = """
CREATE OR REPLACE FUNCTION public.word_list(
    kind text, query text, collection_ids bigint[], filter jsonb, settings jsonb,
    OUT chunk_ids bigint[], OUT document_ids bigint[], OUT chunk_indexes integer[],
    OUT scores double precision[], OUT perfect double precision
) LANGUAGE plpython3u STABLE AS $python$
import json
from math import inf
from pgblend.plpy.search.store import WordLists, WordScope
from pgblend.plpy.search.query import IndexState
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.base.session import Backend
from pgblend.plpy.base.catalog import SearchSettings, defaults

read = json.loads(settings)
given = {name: read[name] for name in defaults("search") if name in read}
asked = SearchSettings(**defaults("search") | given)
state = IndexState(read.get("lexical_index"), read.get("damaged") or ())
db = Backend(plpy, GD)
lists = WordLists(db, StoreNode(db), WordScope(collection_ids, filter, inf), asked, state)
return lists.find(kind, query, asked.candidate_depth).found._asdict()
$python$;
CREATE OR REPLACE FUNCTION public.vector_list(
    vector vector, space text, collection_ids bigint[], binding text, filter jsonb, settings jsonb,
    OUT chunk_ids bigint[], OUT document_ids bigint[], OUT chunk_indexes integer[],
    OUT scores double precision[]
) LANGUAGE plpython3u STABLE
SET "hnsw.ef_search" = 40
SET "hnsw.iterative_scan" = strict_order
SET "hnsw.max_scan_tuples" = 20000
SET enable_sort = on
SET enable_seqscan = on
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $python$
import json
from pgblend.plpy.search.arms import VectorScope, vector_request
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.plan import read_state
from pgblend.plpy.base.session import Backend
from pgblend.plpy.base.catalog import SearchSettings, defaults

db, read = Backend(plpy, GD), json.loads(settings)
given = {name: read[name] for name in defaults("search") if name in read}
asked = SearchSettings(**defaults("search") | given)
state = read_state(db, None, None, collection_ids)
scope = VectorScope(state.space(space), collection_ids, state.is_everywhere, binding, filter)
asked_for = vector_request(vector, scope, asked, asked.candidate_depth)
return StoreNode(db).nearest(asked_for)._asdict()
$python$;
CREATE OR REPLACE FUNCTION public.lexical_counts(
    collection_ids bigint[], configs text[], lexemes text[], by_document boolean,
    OUT n bigint, OUT total_length bigint, OUT df bigint[],
    OUT language_n bigint[], OUT language_df bigint[]
) LANGUAGE plpython3u STABLE AS $python$
from math import inf
from pgblend.plpy.lexical.own_index import Node
from pgblend.plpy.base.ports import CountRequest
from pgblend.plpy.base.session import Backend

return Node(Backend(plpy, GD)).count(
    CountRequest(collection_ids, configs, lexemes, by_document, inf))
$python$;
"""


def add_word_lists(connection: psycopg.Connection) -> None:
    """Make word_list, vector_list and lexical_counts, which everybody may call."""
    connection.execute(loading(_FUNCTIONS).encode())
