"""Every routine that says PARALLEL SAFE is called inside a parallel worker."""

import psycopg
import pytest

from support.database import Database, add_documents, add_space, embed_waiting
from support.program import loading

SETTINGS = "$SETTINGS$"  # stands for those of a search, read before: a worker cannot
IDS = "'{1}'::bigint[]"  # the first collection's number; a sub-query would not go to a worker
CALLS = {
    "_base_type": "('int4'::regtype)",
    "_column_json": "('body', 'int4'::regtype)",
    "_column_text": "('body', 'bool'::regtype)",
    "_key_types": "()",
    "_nearest_names": "('k', '{b,k1}')",
    "_bucket": "(1, 'key')",
    "_is_answered": "()",
    "_compartment_readers": "(1)",
    "_compartments": "(1)",
    "_placed_document": "(d, 1) FROM pgblend_data.document AS d",
    "_reader_key": "('hr')",
    "_readers_of": "('c', 'key')",
    "_readers_stay": "(1, 1, 1)",
    "_has_own_readers": "(1)",
    "_vector_key": "('t', 'h', 'c', 'x')",
    "_check_chunk_sizes": "(pgblend._collection_settings('{}'))",
    "_check_own_profile": "('mine')",
    "_check_grant": "('pgblend_reader', 'read')",
    "_check_result_limit": "(10)",
    "_check_space": "('s', 'm', 3, 'vector')",
    "_check_text_search_config": "('english')",
    "_check_size": "('ranks', 101, 'items', 'array_items')",
    "_collection_settings": "('{}')",
    "_experiment_outcome": "(e) FROM pgblend_data.experiment AS e",
    "_experiment_votes": "(e) FROM pgblend_data.experiment AS e",
    "_vote_evidence": "(3, 4)",
    "experiment_status": "()",
    "_chunks_around": f"({IDS}, {SETTINGS})",
    "_passage_ages": "('{1}')",
    "_collection_sizes": f"({IDS})",
    "_document_count": "(NULL)",
    "_document_facts": "(1)",
    "_document_id": "(NULL, 'k')",
    "_documents_called": "('k')",
    "_documents_decide": f"('d.id = 1', '{{}}', {IDS})",
    "_documents_read": "('d.id = 1', NULL)",
    "_embedding_inputs": "('{1}')",
    "_storages": "(1, 3)",
    "_embedding_input": "('title', 't', 'h', 'c', NULL, NULL)",
    "_check_addressed": "('{1}')",
    "_foreign_key_names": "('pg_class')",
    "_front": "()",
    "_most_chunks": "()",
    "_followed_metadata": """('{}', '{"a": 1}', '{}', '{}')""",
    "_read_chunks": """('[{"content": "a"}]')""",
    "_metadata_counts": f"({IDS})",
    "_merged_metadata": """('{}', '{"a": null}')""",
    "_summary_counts": "('m')",
    "_entity_passages": "('{1}')",
    "_known_documents": "(1, '{1}', '{key}')",
    "_bucket_of": """('5', '[1, 10]')""",
    "_facet_values": """('{1}', '{a,$date}', '{"$date": "year"}', '{1}')""",
    "_field_distances": """('{1}', '{a,$date}', ARRAY['1', '"now"'])""",
    "_field_values": "('{1}', '{a,$kind}')",
    "_filter_estimate": f"('true', '{{}}', {IDS})",
    "_found_documents": "(ARRAY[]::blend.search_result[], NULL)",
    "_find_document": f"('key', {IDS})",
    "_has_documents": "(1)",
    "_has_edges": "()",
    "_has_numpy": "()",
    "_iso_timestamp": "('2026-01-31')",
    "_join_conditions": "('{a,b}', true)",
    "_query_condition": "('{1,1}', '{a,b}', '{true,false}')",
    "_lexeme_tsquery": "('{a,b}')",
    "_live_workers": "()",
    "_may_write": "(1)",
    "_milliseconds": "('2026-01-01 00:00', '2026-01-01 00:01')",
    "_named_collection": "('c')",
    "_neighbours": "('{4,5}', 'both', NULL, 10)",
    "_named_space": "('test_space')",
    "_as_vector": "('{1,2}')",
    "_is_vector": "('vector'::regtype)",
    "_column_dimensions": "('pgblend_data.embedding_test_space', 'embedding')",
    "_first_embedded": "(pgblend._named_space('test_space'), 1)",
    "_free_space_name": "('openai/m', 3)",
    "_vector_problem": "('[1,0]', 2, 'halfvec')",
    "_check_embeddings": "(pgblend._named_space('test_space'), '{}', '{}')",
    "_node_facts": "('{4,5}')",
    "_node_id": "('document:1')",
    "_node_name": "(4)",
    "_passage_document": "(1)",
    "_passage_rows": f"({IDS})",
    "_plain_query": "('a \"b\"')",
    "_probe_start": "('{1,2}')",
    "_probe_text": "()",
    "_query_configuration": "('how do I', '{english}')",
    "_query_language": "('how do I')",
    "_readable_collections": "()",
    "_regconfig": "('english')",
    "_sample_vectors": f"({IDS}, 10, NULL)",
    "_sampled_chunks": "(1, 10)",
    "_sampled_vectors": f"({IDS}, 10, 'test_space')",
    "_unreadable_json": "('{}')",
    "_used_languages": f"({IDS})",
    "_waiting_vectors": "(1, 'test_space')",
    "_searched_collections": "('{c}')",
    "_searched_space": "(NULL)",
    "_lacking_vectors": "('s')",
    "_may_become": "('pgblend_reader', 10)",
    "_may_read_rows": "('pgblend_reader', 'pgblend_data.chunk'::regclass)",
    "_not_attachable": "('pgblend_reader', 'pgblend_data.chunk')",
    "_shielded": "('x')",
    "_attach_call": "(a) FROM pgblend_data.attached_table AS a",
    "_attachment_queries": "(a) FROM pgblend_data.attached_table AS a",
    "_foreign_keys": "('pgblend_data.chunk')",
    "_needs_row_triggers": "('pgblend_data.chunk')",
    "_partition_changes": "(a) FROM pgblend_data.attached_table AS a",
    "_partitions": "('pgblend_data.chunk'::regclass)",
    "_table_shape": "('pgblend_data.chunk'::regclass)",
    "_trigger_problems": "(a) FROM pgblend_data.attached_table AS a",
    "_waiting_changes": "(a) FROM pgblend_data.attached_table AS a",
    "_user_table": "('articles')",
    "_attachment": "('articles')",
    "_writable_collection": "('c')",
    "_judged_set": "('s', NULL)",
    "_writable_judged_set": "('s', NULL)",
    "count_vectors": "()",
    "get_setting": "('k1')",
    "chunk_embeddings": f"({IDS})",
    "graph_node": "('c', 'k')",
    "graph_score": "(0.5, 1)",
    "_program": "()",
    "_program_code": "()",
    "recency_decay": "(1, 2, 3)",
    "rrf": "('{1,2}')",
    "_setting_catalog": "()",
    "setting_catalog": "()",
}


@pytest.fixture(scope="module")
def forced(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("k", "", "word")])
    db.rows("SELECT add_judged_set('s', 'c')")
    add_space(db)
    embed_waiting(db)
    db.rows("CREATE TABLE public.articles (id bigint PRIMARY KEY, body text)")
    db.rows("SELECT attach_table('articles', '{body}')")
    newer = module_connection.info.server_version >= 160000
    db.rows(f"SET {'debug_parallel_query' if newer else 'force_parallel_mode'} = on")
    return db


def test_every_safe_routine_is_called_below(forced: Database) -> None:
    safe = forced.column(
        "SELECT proname::text FROM pg_proc"
        " WHERE pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)"
        " AND proparallel = 's' AND prorettype <> 'trigger'::regtype"
    )
    assert set(safe) == CALLS.keys()


@pytest.fixture(scope="module")
def search_settings(forced: Database) -> str:
    found = forced.value("SELECT quote_literal(pgblend._search_settings('{}', NULL, '{}'))")
    return f"{found}::jsonb"


@pytest.mark.parametrize("name", CALLS)
def test_safe_in_a_worker(forced: Database, search_settings: str, name: str) -> None:
    schema = "pgblend" if name.startswith("_") else "blend"
    query = f"SELECT {schema}.{name}{CALLS[name]}".replace(SETTINGS, search_settings)
    plan = "\n".join(forced.column(f"EXPLAIN (COSTS OFF) {query}"))
    assert "Gather" in plan
    forced.rows(query)


def test_the_test_can_fail(forced: Database) -> None:
    with forced.connection.transaction(force_rollback=True):
        forced.rows(
            "CREATE FUNCTION public.sets() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE"
            " AS $$ SELECT set_config('search_path', 'public', true) $$"
        )
        assert forced.error("SELECT public.sets()").sqlstate == "25000"


def test_why_bodies_that_load_the_program_are_unsafe(forced: Database) -> None:
    if forced.connection.info.server_version >= 170000:
        pytest.skip("since 17 a parallel worker's PL/Python may run statements")
    with forced.connection.transaction(force_rollback=True):
        forced.rows(loading(
            "CREATE FUNCTION public.loads() RETURNS text LANGUAGE plpython3u STABLE PARALLEL SAFE"
            " AS $python$\nfrom pgblend.plpy.lexical.query import query_size\n"
            "return str(query_size)\n$python$;"))  # fmt: skip
        problem = forced.error("SELECT public.loads()")
        assert (problem.sqlstate, problem.message_primary) == (
            "25000", "cannot start subtransactions during a parallel operation")  # fmt: skip
