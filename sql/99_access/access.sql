-- access: who may call and read what.
-- Every right on a function is taken back first, from PUBLIC and from our roles, then granted here
-- and nowhere else. Search functions run as the caller, so the roles also need the functions and
-- tables that those use; which rows they see there is up to row security.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA blend, pgblend
FROM public, pgblend_reader, pgblend_writer, pgblend_admin;

GRANT SELECT ON
blend.attached_tables,
blend.chunks, blend.collections, blend.conversations, blend.documents,
blend.embedding_dead_letters, blend.embedding_progress, blend.embedding_spaces,
blend.evaluation_metrics, blend.evaluation_queries, blend.evaluation_runs,
blend.judged_sets, blend.judgements, blend.profiles, blend.quality_trend,
blend.settings,
pgblend._document_containing, pgblend._setting_values, pgblend._similar_lexeme
TO pgblend_reader;
GRANT SELECT ON
blend.degraded_searches, blend.model_costs, blend.queries_without_results,
blend.search_latency, blend.search_volume, blend.setting_changes
TO pgblend_admin;

GRANT SELECT ON
pgblend_data.alembic_version, pgblend_data.attached_table,
pgblend_data.chunk, pgblend_data.collection, pgblend_data.collection_grant,
pgblend_data.collection_language, pgblend_data.document, pgblend_data.document_summary,
pgblend_data.embedding_allowance, pgblend_data.embedding_queue, pgblend_data.embedding_space,
pgblend_data.embedding_worker,
pgblend_data.evaluation_result, pgblend_data.evaluation_run, pgblend_data.index_claim,
pgblend_data.judged_query, pgblend_data.judged_set, pgblend_data.judgement,
pgblend_data.lexical_failure, pgblend_data.pending, pgblend_data.posting, pgblend_data.profile,
pgblend_data.segment, pgblend_data.setting, pgblend_data.tombstone, pgblend_data.vocabulary
TO pgblend_reader;
GRANT INSERT, UPDATE, DELETE ON
pgblend_data.collection_language, pgblend_data.document_summary,
pgblend_data.embedding_queue, pgblend_data.evaluation_result,
pgblend_data.judgement, pgblend_data.lexical_failure
TO pgblend_writer;
GRANT UPDATE (transaction_id) ON pgblend_data.index_claim TO pgblend_writer;
GRANT UPDATE, DELETE ON
pgblend_data.chunk, pgblend_data.document, pgblend_data.embedding_worker, pgblend_data.entity,
pgblend_data.evaluation_run, pgblend_data.judged_query, pgblend_data.judged_set, pgblend_data.link
TO pgblend_writer;
-- All columns but numbers: whoever gives those would take the number of somebody's row to come.
DO $do$
DECLARE
    numbered record;
BEGIN
    FOR numbered IN
        SELECT a.attrelid::pg_catalog.regclass AS relation,
            string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
        FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid IN (
                'pgblend_data.chunk'::pg_catalog.regclass,
                'pgblend_data.document'::pg_catalog.regclass,
                'pgblend_data.embedding_worker'::pg_catalog.regclass,
                'pgblend_data.entity'::pg_catalog.regclass,
                'pgblend_data.evaluation_run'::pg_catalog.regclass,
                'pgblend_data.judged_query'::pg_catalog.regclass,
                'pgblend_data.judged_set'::pg_catalog.regclass,
                'pgblend_data.link'::pg_catalog.regclass)
            AND a.attnum > 0 AND NOT a.attisdropped
            AND a.attidentity = '' AND a.attgenerated = ''
        GROUP BY a.attrelid
    LOOP
        EXECUTE format(
            'GRANT INSERT (%s) ON %s TO pgblend_writer', numbered.columns, numbered.relation);
    END LOOP;
END
$do$;
GRANT INSERT, UPDATE, DELETE ON
pgblend_data.attached_table, pgblend_data.collection, pgblend_data.collection_grant,
pgblend_data.embedding_space, pgblend_data.key_reference,
pgblend_data.profile, pgblend_data.setting
TO pgblend_admin;
-- To remove a collection.
GRANT DELETE ON
pgblend_data.pending, pgblend_data.posting, pgblend_data.segment, pgblend_data.tombstone,
pgblend_data.vocabulary
TO pgblend_admin;
GRANT SELECT, INSERT (scope, subject, name, old_value, new_value)
ON pgblend_data.setting_history TO pgblend_admin;
GRANT SELECT, DELETE ON pgblend_data.model_call, pgblend_data.search_log TO pgblend_admin;
GRANT SELECT ON pgblend_data.key_reference TO pgblend_admin;
-- What the gateway's own connection may do; it reads a log's times to drop what is old.
GRANT SELECT, INSERT, DELETE ON pgblend_data.model_answer TO pgblend_gateway;
GRANT INSERT, DELETE ON pgblend_data.model_call, pgblend_data.search_log TO pgblend_gateway;
GRANT SELECT (called_at) ON pgblend_data.model_call TO pgblend_gateway;
GRANT SELECT (searched_at) ON pgblend_data.search_log TO pgblend_gateway;
-- The HTTP door's login finds a token's role as pgblend_serve, which may do nothing else.
GRANT SELECT (digest, role_name, scopes, expires_at) ON pgblend_data.access_token TO pgblend_serve;
GRANT SELECT, INSERT (name, digest, role_name, scopes, expires_at), DELETE
ON pgblend_data.access_token TO pgblend_admin;

-- The public surface for readers.
GRANT EXECUTE ON FUNCTION
blend.ask,
blend.audit_recall,
blend.blend_scores,
blend.chunk_embeddings,
blend.convex_fusion,
blend.count_vectors,
blend.drop_duplicates,
blend.embed_text,
blend.expand_query,
blend.fuzzy_search,
blend.get_context,
blend.get_setting,
blend.graph_score,
blend.hybrid_search,
blend.last_search,
blend.lexical_search,
blend.lexical_status,
blend.mmr_select,
blend.normalize_scores,
blend.rank_bonus,
blend.rerank_candidates,
blend.rerank_passages,
blend.recency_decay,
blend.rrf,
blend.search_diagnose,
blend.search_explain,
blend.search_facets,
blend.setting_catalog,
blend.vector_search
TO pgblend_reader;
-- What it is made of.
GRANT EXECUTE ON FUNCTION
pgblend._active_space,
pgblend._answered_vectors,
pgblend._answer_messages,
pgblend._answer_reply,
pgblend._arm_facts,
pgblend._arm_settings,
pgblend._ask_document,
pgblend._ask_passages,
pgblend._asking_role,
pgblend._audit_filters,
pgblend._binding_conditions,
pgblend._blend_score,
pgblend._bm25_idf,
pgblend._check_deadline,
pgblend._check_filter,
pgblend._check_lexical_index,
pgblend._check_query,
pgblend._check_query_embedding,
pgblend._check_result_limit,
pgblend._check_settings,
pgblend._check_size,
pgblend._check_timeout,
pgblend._checked_expansion,
pgblend._checked_scores,
pgblend._checked_vectors,
pgblend._chunks_around,
pgblend._context_document,
pgblend._context_of,
pgblend._context_settings,
pgblend._convex_fusion,
pgblend._cover_density_arm,
pgblend._cut_at_word,
pgblend._damaged_index,
pgblend._degrade,
pgblend._degrade_mode,
pgblend._document_ages,
pgblend._documents_decide,
pgblend._documents_read,
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
pgblend._few_vectors,
pgblend._filter_candidates,
pgblend._filter_chunks,
pgblend._filter_condition,
pgblend._filter_documents,
pgblend._filter_estimate,
pgblend._find_document,
pgblend._fuzzy_arm,
pgblend._fuzzy_terms,
pgblend._group_condition,
pgblend._group_operands,
pgblend._has_numpy,
pgblend._has_vectors,
pgblend._hold_space,
pgblend._identifiers,
pgblend._index_damage,
pgblend._indexable_text,
pgblend._indexed_stems,
pgblend._is_building,
pgblend._is_named,
pgblend._iso_timestamp,
pgblend._join_conditions,
pgblend._kept_plan,
pgblend._language_idf,
pgblend._language_statistics,
pgblend._lexeme_tsquery,
pgblend._lexical_arm,
pgblend._lexical_best,
pgblend._lexical_deadline,
pgblend._lexical_score,
pgblend._lexical_state,
pgblend._lexical_statistics,
pgblend._limits_in_force,
pgblend._live_workers,
pgblend._load_program,
pgblend._merge_layers,
pgblend._merge_settings,
pgblend._milliseconds,
pgblend._missing_stages,
pgblend._mmr_select,
pgblend._mask_secrets,
pgblend._model_answer,
pgblend._named_collection,
pgblend._no_collections,
pgblend._normalize_scores,
pgblend._note_search,
pgblend._parse_query,
pgblend._pending_chunks,
pgblend._place_in_arm,
pgblend._posting_blocks,
pgblend._query_embedding,
pgblend._program,
pgblend._program_code,
pgblend._query_groups,
pgblend._query_idf,
pgblend._query_language,
pgblend._query_size,
pgblend._query_stop_words,
pgblend._query_terms,
pgblend._query_words,
pgblend._rank_bonus,
pgblend._rank_passages,
pgblend._regconfig,
pgblend._rehearse_arm,
pgblend._report_context,
pgblend._report_search,
pgblend._search_fields,
pgblend._request_model,
pgblend._schema_error,
pgblend._sample_vectors,
pgblend._search,
pgblend._search_filter,
pgblend._search_facts,
pgblend._search_meta,
pgblend._search_page,
pgblend._search_plan,
pgblend._search_report,
pgblend._search_settings,
pgblend._search_trace,
pgblend._search_space,
pgblend._searched_collections,
pgblend._searched_space,
pgblend._segment_arrays,
pgblend._segment_score,
pgblend._setting_defaults,
pgblend._setting_error,
pgblend._setting_in_force,
pgblend._setting_layers,
pgblend._setting_rules,
pgblend._setting_schema,
pgblend._setting_sources,
pgblend._similar_lexemes,
pgblend._snippets,
pgblend._sound_collections,
pgblend._spaced_bigrams,
pgblend._sum_ascending,
pgblend._summary_counts,
pgblend._text_around,
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
pgblend._with_cursor_depth,
pgblend._websearch_query,
pgblend._websearch_text,
pgblend._why_not,
pgblend._with_text_around,
pgblend._whole_name,
pgblend._words_of_lexemes
TO pgblend_reader;

GRANT EXECUTE ON FUNCTION
blend.add_judged_set,
blend.delete_document(bigint),
blend.delete_document(text, text),
blend.evaluate_queries,
blend.feedback,
blend.ingest_document,
blend.lexical_rebuild,
blend.lexical_seal,
blend.record_judgement,
blend.remove_judged_set,
blend.reset_metadata,
blend.retry_embeddings,
blend.set_metadata,
blend.set_summary
TO pgblend_writer;
GRANT EXECUTE ON FUNCTION
pgblend._append_chunks,
pgblend._append_document,
pgblend._approximate_tokens,
pgblend._bucket,
pgblend._check_can_index,
pgblend._check_chunk_sizes,
pgblend._check_chunks,
pgblend._check_text_search_config,
pgblend._chunk_error,
pgblend._claim_index,
pgblend._collection_settings,
pgblend._document_language,
pgblend._document_row,
pgblend._drop_pending,
pgblend._drop_segments,
pgblend._embedding_allowance,
pgblend._embedding_input,
pgblend._fail_embeddings,
pgblend._fail_summary,
pgblend._follow_settings,
pgblend._followed_metadata,
pgblend._finish_run,
pgblend._found_documents,
pgblend._has_summaries,
pgblend._index_collection,
pgblend._index_parts,
pgblend._insert_chunks,
pgblend._judged_search,
pgblend._judged_set,
pgblend._last_position,
pgblend._load_segment,
pgblend._load_segments,
pgblend._logged_search,
pgblend._lock_segments,
pgblend._may_write,
pgblend._merged_metadata,
pgblend._name_field,
pgblend._name_lexemes,
pgblend._next_embeddings,
pgblend._next_summaries,
pgblend._note_failure,
pgblend._pack_lexemes,
pgblend._pack_vector,
pgblend._passage_metrics,
pgblend._plain_query,
pgblend._queue_again,
pgblend._queue_changed_prefix,
pgblend._rebuild_collection,
pgblend._rebuild_vocabulary,
pgblend._release_embeddings,
pgblend._renew_summaries,
pgblend._run_versions,
pgblend._script_language,
pgblend._seal_batch,
pgblend._seal_collection,
pgblend._seal_missing,
pgblend._seal_waiting,
pgblend._split_content,
pgblend._start_run,
pgblend._start_worker,
pgblend._stop_worker,
pgblend._store_documents,
pgblend._store_embeddings,
pgblend._store_summary,
pgblend._store_token_counts,
pgblend._take_allowance,
pgblend._uncounted_chunks,
pgblend._waits_for_summary,
pgblend._wake_workers,
pgblend._want_summaries,
pgblend._writable_collection,
pgblend._writable_judged_set
TO pgblend_writer;

GRANT EXECUTE ON FUNCTION
blend.add_collection,
blend.attach_table,
blend.check_attached_tables,
blend.create_embedding_space,
blend.create_unaccent_config,
blend.detach_table,
blend.drop_embedding_space,
blend.drop_profile,
blend.fill_table,
blend.grant_collection,
blend.probe_embedding_space,
blend.queue_missing_vectors,
blend.remove_collection,
blend.reset_setting,
blend.revoke_collection,
blend.set_collection_settings,
blend.set_profile,
blend.set_setting,
blend.set_settings,
blend.switch_embedding_space,
blend.tune_embedding_space
TO pgblend_admin;
GRANT EXECUTE ON FUNCTION
pgblend._apply_batch,
pgblend._apply_changes,
pgblend._attachment,
pgblend._attachment_collection,
pgblend._attachment_error,
pgblend._attachment_queries,
pgblend._attached_rows,
pgblend._base_type,
pgblend._check_own_profile,
pgblend._check_privilege,
pgblend._check_role,
pgblend._check_space,
pgblend._claim_documents,
pgblend._column_json,
pgblend._column_text,
pgblend._create_embedding_table,
pgblend._create_table_triggers,
pgblend._drop_reader,
pgblend._drop_table_triggers,
pgblend._foreign_key_names,
pgblend._foreign_keys,
pgblend._key_types,
pgblend._link_references,
pgblend._needs_row_triggers,
pgblend._next_keys,
pgblend._note_probe,
pgblend._orphan_keys,
pgblend._primary_key,
pgblend._probe_model,
pgblend._probe_start,
pgblend._probe_text,
pgblend._read_attached,
pgblend._store_references,
pgblend._table_changed,
pgblend._table_truncated,
pgblend._trigger_problems,
pgblend._user_table
TO pgblend_admin;

-- The graph.
GRANT SELECT ON
blend.edges, blend.entities, blend.links, pgblend_data.document_name, pgblend_data.edge,
pgblend_data.entity, pgblend_data.entity_extraction, pgblend_data.link
TO pgblend_reader;
GRANT INSERT, UPDATE, DELETE ON
pgblend_data.document_name, pgblend_data.edge, pgblend_data.entity_extraction
TO pgblend_writer;
GRANT EXECUTE ON FUNCTION
blend.graph_neighbors,
blend.graph_node,
blend.graph_search,
pgblend._check_graph_settings,
pgblend._chunk_neighbours,
pgblend._neighbours,
pgblend._node_facts,
pgblend._node_id,
pgblend._node_name,
pgblend._node_passages,
pgblend._search_from_seeds,
pgblend._walk
TO pgblend_reader;
GRANT EXECUTE ON FUNCTION
blend.add_edge,
blend.add_links,
blend.delete_edge,
blend.link_mentions,
blend.resolve_links,
pgblend._check_edge,
pgblend._check_links,
pgblend._document_names,
pgblend._drop_edges,
pgblend._drop_lone_entities,
pgblend._drop_mentions,
pgblend._entity_texts,
pgblend._import_links,
pgblend._insert_links,
pgblend._link_edges,
pgblend._link_entities,
pgblend._link_error,
pgblend._link_mentions,
pgblend._names_entity,
pgblend._replace_links,
pgblend._resolve_links,
pgblend._store_extraction,
pgblend._store_mentions
TO pgblend_writer;
