-- access: who may call and read what.
-- Every right on a function is taken back first, from PUBLIC and from our roles, then granted here
-- and nowhere else. Search functions run as the caller, so the roles also need the functions and
-- tables that those use; which rows they see there is up to row security.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pgblend
FROM public, pgblend_reader, pgblend_writer, pgblend_admin;

GRANT SELECT ON
pgblend.chunks, pgblend.collections, pgblend.documents,
pgblend.embedding_dead_letters, pgblend.embedding_progress, pgblend.embedding_spaces,
pgblend.evaluation_metrics, pgblend.evaluation_queries, pgblend.evaluation_runs,
pgblend.judged_sets, pgblend.judgements, pgblend.profiles, pgblend.settings,
pgblend._document_containing, pgblend._similar_lexeme
TO pgblend_reader;
GRANT SELECT ON
pgblend.degraded_searches, pgblend.model_costs, pgblend.queries_without_results,
pgblend.search_latency, pgblend.search_volume, pgblend.setting_changes
TO pgblend_admin;

GRANT SELECT ON
pgblend_data.chunk, pgblend_data.collection, pgblend_data.collection_grant,
pgblend_data.collection_language, pgblend_data.document, pgblend_data.embedding_allowance,
pgblend_data.embedding_queue, pgblend_data.embedding_space, pgblend_data.embedding_worker,
pgblend_data.evaluation_result, pgblend_data.evaluation_run,
pgblend_data.judged_query, pgblend_data.judged_set, pgblend_data.judgement,
pgblend_data.lexical_failure, pgblend_data.pending, pgblend_data.posting, pgblend_data.profile,
pgblend_data.segment, pgblend_data.setting, pgblend_data.tombstone, pgblend_data.vocabulary
TO pgblend_reader;
GRANT INSERT, UPDATE, DELETE ON
pgblend_data.chunk, pgblend_data.collection_language, pgblend_data.document,
pgblend_data.embedding_allowance, pgblend_data.embedding_queue, pgblend_data.embedding_worker,
pgblend_data.evaluation_result, pgblend_data.evaluation_run,
pgblend_data.judged_query, pgblend_data.judged_set, pgblend_data.judgement,
pgblend_data.lexical_failure, pgblend_data.pending, pgblend_data.posting, pgblend_data.segment,
pgblend_data.tombstone, pgblend_data.vocabulary
TO pgblend_writer;
GRANT INSERT, UPDATE, DELETE ON
pgblend_data.collection, pgblend_data.collection_grant, pgblend_data.embedding_space,
pgblend_data.profile, pgblend_data.setting
TO pgblend_admin;
GRANT SELECT, INSERT ON pgblend_data.setting_history TO pgblend_admin;
GRANT SELECT, DELETE ON pgblend_data.model_call, pgblend_data.search_log TO pgblend_admin;
-- What the gateway's own connection may do; it reads a log's times to drop what is old.
GRANT SELECT, INSERT, DELETE ON pgblend_data.model_answer TO pgblend_gateway;
GRANT INSERT, DELETE ON pgblend_data.model_call, pgblend_data.search_log TO pgblend_gateway;
GRANT SELECT (called_at) ON pgblend_data.model_call TO pgblend_gateway;
GRANT SELECT (searched_at) ON pgblend_data.search_log TO pgblend_gateway;

-- The public surface for readers.
GRANT EXECUTE ON FUNCTION
pgblend.audit_recall,
pgblend.blend_scores,
pgblend.chunk_embeddings,
pgblend.convex_fusion,
pgblend.drop_duplicates,
pgblend.embed_text,
pgblend.expand_query,
pgblend.fuzzy_search,
pgblend.get_setting,
pgblend.graph_score,
pgblend.hybrid_search,
pgblend.lexical_search,
pgblend.lexical_status,
pgblend.mmr_select,
pgblend.normalize_scores,
pgblend.rank_bonus,
pgblend.rerank_candidates,
pgblend.rerank_passages,
pgblend.recency_decay,
pgblend.rrf,
pgblend.search_diagnose,
pgblend.search_explain,
pgblend.search_facets,
pgblend.setting_catalog,
pgblend.vector_search
TO pgblend_reader;
-- What it is made of.
GRANT EXECUTE ON FUNCTION
pgblend._active_space,
pgblend._answered_vectors,
pgblend._arm_depth,
pgblend._arm_facts,
pgblend._arm_settings,
pgblend._audit_filters,
pgblend._binding_conditions,
pgblend._blend_score,
pgblend._blend_scores,
pgblend._bm25_idf,
pgblend._check_deadline,
pgblend._check_filter,
pgblend._check_lexical_index,
pgblend._check_query_embedding,
pgblend._check_result_limit,
pgblend._check_settings,
pgblend._check_timeout,
pgblend._checked_expansion,
pgblend._checked_scores,
pgblend._convex_fusion,
pgblend._corrected_words,
pgblend._cut_at_word,
pgblend._degrade,
pgblend._degrade_mode,
pgblend._document_ages,
pgblend._documents_decide,
pgblend._document_arm,
pgblend._document_candidates,
pgblend._document_operands,
pgblend._document_passes,
pgblend._document_score,
pgblend._document_statistics,
pgblend._diagnosis,
pgblend._document_facts,
pgblend._drop_duplicates,
pgblend._facet_values,
pgblend._failed_conditions,
pgblend._fetch_page,
pgblend._feedback_cosines,
pgblend._few_vectors,
pgblend._filter_candidates,
pgblend._filter_chunks,
pgblend._filter_condition,
pgblend._filter_estimate,
pgblend._find_document,
pgblend._fuse_ranks,
pgblend._fuzzy_arm,
pgblend._fuzzy_terms,
pgblend._group_condition,
pgblend._group_operands,
pgblend._has_numpy,
pgblend._has_vectors,
pgblend._identifiers,
pgblend._indexable_text,
pgblend._is_building,
pgblend._iso_timestamp,
pgblend._join_bigrams,
pgblend._language_idf,
pgblend._language_statistics,
pgblend._lexeme_tsquery,
pgblend._lexical_arm,
pgblend._lexical_score,
pgblend._lexical_state,
pgblend._lexical_statistics,
pgblend._live_workers,
pgblend._merge_settings,
pgblend._milliseconds,
pgblend._missing_stages,
pgblend._mmr_select,
pgblend._model_answer,
pgblend._monotonic_deadline,
pgblend._named_collection,
pgblend._normalize_arm,
pgblend._normalize_scores,
pgblend._parse_query,
pgblend._pending_chunks,
pgblend._place_in_arm,
pgblend._posting_blocks,
pgblend._query_embedding,
pgblend._query_groups,
pgblend._query_stop_words,
pgblend._query_words,
pgblend._rank_bonus,
pgblend._rank_passages,
pgblend._recency_decay,
pgblend._regconfig,
pgblend._request_model,
pgblend._scale_fused,
pgblend._schema_error,
pgblend._sample_vectors,
pgblend._seal_lock,
pgblend._search,
pgblend._search_filter,
pgblend._search_facts,
pgblend._search_page,
pgblend._search_settings,
pgblend._search_trace,
pgblend._search_space,
pgblend._searched_collections,
pgblend._segment_arrays,
pgblend._segment_score,
pgblend._setting_defaults,
pgblend._setting_error,
pgblend._setting_in_force,
pgblend._setting_schema,
pgblend._setting_sources,
pgblend._similar_lexemes,
pgblend._snippets,
pgblend._spaced_bigrams,
pgblend._sum_ascending,
pgblend._trigram_arm,
pgblend._tsvector_document_score,
pgblend._tsvector_document_statistics,
pgblend._tsvector_language_statistics,
pgblend._tsvector_score,
pgblend._tsvector_statistics,
pgblend._vector_arm,
pgblend._vector_scan,
pgblend._vectors_may_answer,
pgblend._vectors_waiting,
pgblend._wanted_stages,
pgblend._why_not,
pgblend._word_of_lexeme,
pgblend._worker_lock
TO pgblend_reader;

GRANT EXECUTE ON FUNCTION
pgblend.add_judged_set,
pgblend.delete_document(bigint),
pgblend.delete_document(text, text),
pgblend.evaluate_queries,
pgblend.ingest_document,
pgblend.lexical_rebuild,
pgblend.lexical_seal,
pgblend.record_judgement,
pgblend.remove_judged_set,
pgblend.retry_embeddings,
pgblend.set_metadata
TO pgblend_writer;
GRANT EXECUTE ON FUNCTION
pgblend._append_chunks,
pgblend._append_document,
pgblend._approximate_tokens,
pgblend._bucket,
pgblend._check_can_index,
pgblend._check_chunk_sizes,
pgblend._check_text_search_config,
pgblend._chunk_error,
pgblend._collection_settings,
pgblend._document_change,
pgblend._document_row,
pgblend._drop_segments,
pgblend._embedding_allowance,
pgblend._embedding_input,
pgblend._fail_embeddings,
pgblend._finish_run,
pgblend._found_documents,
pgblend._identifier_vector,
pgblend._index_collection,
pgblend._judged_search,
pgblend._judged_set,
pgblend._last_position,
pgblend._load_segment,
pgblend._load_segments,
pgblend._lock_segments,
pgblend._may_write,
pgblend._next_embeddings,
pgblend._note_failure,
pgblend._pack_lexemes,
pgblend._pack_vector,
pgblend._passage_metrics,
pgblend._plain_query,
pgblend._rebuild_collection,
pgblend._rebuild_vocabulary,
pgblend._release_embeddings,
pgblend._replace_chunks,
pgblend._run_versions,
pgblend._seal_batch,
pgblend._seal_collection,
pgblend._seal_missing,
pgblend._seal_waiting,
pgblend._split_content,
pgblend._start_run,
pgblend._start_worker,
pgblend._stop_worker,
pgblend._store_embeddings,
pgblend._take_pending,
pgblend._take_tombstones,
pgblend._vocabulary_lock,
pgblend._wake_workers,
pgblend._writable_collection,
pgblend._writable_judged_set,
pgblend._write_segment
TO pgblend_writer;

GRANT EXECUTE ON FUNCTION
pgblend.add_collection,
pgblend.create_embedding_space,
pgblend.create_unaccent_config,
pgblend.drop_embedding_space,
pgblend.drop_profile,
pgblend.grant_collection,
pgblend.remove_collection,
pgblend.reset_setting,
pgblend.revoke_collection,
pgblend.set_collection_settings,
pgblend.set_profile,
pgblend.set_setting,
pgblend.set_settings
TO pgblend_admin;
GRANT EXECUTE ON FUNCTION
pgblend._check_own_profile,
pgblend._check_privilege,
pgblend._check_role,
pgblend._create_embedding_table
TO pgblend_admin;

-- The graph.
GRANT SELECT ON
pgblend.edges, pgblend.entities, pgblend.links, pgblend_data.document_name, pgblend_data.edge,
pgblend_data.entity, pgblend_data.entity_extraction, pgblend_data.link
TO pgblend_reader;
GRANT INSERT, UPDATE, DELETE ON
pgblend_data.document_name, pgblend_data.edge, pgblend_data.entity,
pgblend_data.entity_extraction, pgblend_data.link
TO pgblend_writer;
GRANT EXECUTE ON FUNCTION
pgblend.graph_neighbors,
pgblend.graph_node,
pgblend._check_graph_settings,
pgblend._chunk_neighbours,
pgblend._neighbours,
pgblend._node_facts,
pgblend._node_id,
pgblend._node_name,
pgblend._walk
TO pgblend_reader;
GRANT EXECUTE ON FUNCTION
pgblend.add_edge,
pgblend.add_links,
pgblend.delete_edge,
pgblend.resolve_links,
pgblend._check_edge,
pgblend._check_links,
pgblend._document_names,
pgblend._drop_edges,
pgblend._drop_lone_entities,
pgblend._import_links,
pgblend._insert_links,
pgblend._link_edges,
pgblend._link_error,
pgblend._replace_links,
pgblend._resolve_links
TO pgblend_writer;
