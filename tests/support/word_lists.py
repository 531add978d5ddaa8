"""The lexical arm alone, as functions in the database that tests call."""

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
from pgblend.plpy.search.lexical import IndexState, WordLists
from pgblend.plpy.session import Backend
from pgblend.plpy.settings.catalog import SearchSettings, defaults

read = json.loads(settings)
given = {name: read[name] for name in defaults("search") if name in read}
asked = SearchSettings(**defaults("search") | given)
state = IndexState(read.get("lexical_index"), read.get("damaged") or ())
lists = WordLists(Backend(plpy, GD), collection_ids, filter, asked, inf, state)
return lists.find(kind, query, asked.candidate_depth).found
$python$;
CREATE OR REPLACE FUNCTION public.lexical_counts(
    collection_ids bigint[], configs text[], lexemes text[], by_document boolean,
    OUT n bigint, OUT total_length bigint, OUT df bigint[],
    OUT language_n bigint[], OUT language_df bigint[]
) LANGUAGE plpython3u STABLE AS $python$
from math import inf
from pgblend.plpy.lexical.node import Node
from pgblend.plpy.ports import CountRequest
from pgblend.plpy.session import Backend

return Node(Backend(plpy, GD)).count(
    CountRequest(collection_ids, configs, lexemes, by_document, inf))
$python$;
"""


def add_word_lists(connection: psycopg.Connection) -> None:
    """Make word_list and lexical_counts, which everybody may call."""
    connection.execute(loading(_FUNCTIONS).encode())
