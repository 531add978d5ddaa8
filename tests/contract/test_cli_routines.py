"""Which private routines the command line calls: these, and no others.

Public ones (blend.…) it may call as anybody may. Each name here is a promise between cli/ and sql/:
its arguments and rows cannot change on one side alone.
"""

import ast
import re
from pathlib import Path

CLI = Path(__file__).resolve().parents[2] / "cli"
ROUTINES = {
    "ingest and sync": {
        *("_append_staged", "_collection_settings", "_compartments", "_place_documents"),
        "_store_staged",
    },
    "graph": {
        *("_find_document", "_import_links", "_link_entities", "_neighbours", "_node_facts"),
        *("_node_id", "_node_name", "_searched_collections"),
        "_writable_collection",
    },
    "worker": {
        *("_fail_embeddings", "_fail_summary", "_live_workers", "_next_embeddings"),
        *(
            "_next_summaries",
            "_note_probe",
            "_probe_text",
            "_release_embeddings",
            "_renew_summaries",
        ),
        *("_resolve_links", "_seal_waiting", "_settle_waiting"),
        *("_start_worker", "_stop_worker", "_store_embeddings"),
        *("_stale_tables", "_store_summary", "_store_token_counts", "_summary_counts"),
    },
    "program outside": {
        *("_check_buckets", "_check_keys", "_check_result_limit", "_facets_of", "_model_request"),
        *("_query_language", "_steps_of", "_walk_start"),
    },
    "door": {"_rows_written"},
    "space plan": {"_embedding_inputs", "_storages"},
    "space adopt": {"_adopt_vectors", "_adoptable", "_repeated_keys"},
    "reindex": {"_load_segments", "_renew_lexemes"},
    "search with models": {"_search", "_search_plan"},
    "ask": {"_answer_reply", "_ask_passages", "_context_settings"},
    "eval": {
        *("_finish_run", "_judged_search", "_judged_set", "_plain_query", "_search_settings"),
        "_start_run",
    },
    "eval learn": {"_known_documents"},
    "the door of SQL clients": {
        "_post_to_gateway",
        *("_chunk_index", "_claim_index", "_drop_index", "_insert_links", "_rebuild_segments"),
        *("_asking_role", "_report_search", "_request_model", "_seal_all_missing", "_seal_batch"),
    },
    "the HTTP door": {"_on_shards", "_token_groups", "_token_role", "_told"},
    "calibrate": {"_collection_sizes", "_sampled_chunks"},
    "the page": {"_has_edges", "_note_feedback"},
    "frameworks": {"_document_id", "_filtered_ids"},
    "doctor": {"_chunk_lexemes", "_load_program", "_regconfig"},
    "shards": {
        *("_apply_front", "_apply_rows", "_become_shard", "_bucket", "_claim_rows"),
        *("_document_markers", "_front", "_note_orphans", "_waiting_rows"),
        *("_guard_store", "_make_plproxy", "_map_user", "_place_shards", "_replace_shard"),
        *("_note_pushed", "_settle_graph", "_shielded", "_trusts"),
    },
}


def statements(path: Path) -> str:
    """The texts of a module, without its documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return "\n".join(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone
    )


def test_the_command_line_calls_the_routines_named_here() -> None:
    called = {
        name
        for path in CLI.rglob("*.py")
        for name in re.findall(r"\bpgblend\.(_\w+)", statements(path))
    }
    assert called == set().union(*ROUTINES.values())


def test_a_routine_is_named_once() -> None:
    names = [name for group in ROUTINES.values() for name in group]
    assert len(names) == len(set(names))
