-- access: who may call and read what.
-- Every right on a function is taken back first, from PUBLIC and from our roles. Granted here are
-- public routines, and private ones that the command line or a trigger calls. Search functions run
-- as the caller, so the roles also need what those call: such rights are derived (sql/rights.py).
-- So are those of everybody on routines that ask for the role themselves (public_guard.plpgsql).
-- Which rows they see is up to row security.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA blend, pgblend
FROM public, pgblend_reader, pgblend_analyst, pgblend_writer, pgblend_admin;
-- Nothing is derived for these: they run the code of a table's owner, or check nobody's rights.
REVOKE ALL ON FUNCTION
pgblend._hold_compartments, pgblend._make_compartment, pgblend._read_as_owner
FROM public;
-- Policies and views ask them as whoever reads.
REVOKE ALL ON FUNCTION pgblend_data.readable_bits, pgblend_data.signature FROM public;
GRANT EXECUTE ON FUNCTION pgblend_data.readable_bits, pgblend_data.signature TO pgblend_reader;

GRANT SELECT ON
blend.attached_tables, blend.chunks, blend.collections, blend.conversations,
blend.document_metadata, blend.document_rights, blend.documents,
blend.edges, blend.embedding_dead_letters, blend.embedding_progress, blend.embedding_spaces,
blend.entities, blend.evaluation_metrics, blend.evaluation_queries, blend.evaluation_runs,
blend.experiments,
blend.judged_sets, blend.judgements, blend.links, blend.profiles, blend.quality_trend,
blend.settings,
pgblend_data.alembic_version, pgblend_data.attached_table, pgblend_data.calibration,
pgblend_data.chunk, pgblend_data.collection, pgblend_data.collection_grant,
pgblend_data.collection_language,
pgblend_data.document, pgblend_data.document_name, pgblend_data.document_reader,
pgblend_data.document_summary,
pgblend_data.edge, pgblend_data.embedding_allowance, pgblend_data.embedding_queue,
pgblend_data.embedding_space, pgblend_data.embedding_worker, pgblend_data.entity,
pgblend_data.entity_extraction, pgblend_data.evaluation_result, pgblend_data.evaluation_run,
pgblend_data.experiment, pgblend_data.granted_words, pgblend_data.index_claim,
pgblend_data.judged_query,
pgblend_data.judged_set,
pgblend_data.judgement, pgblend_data.lasting_proof, pgblend_data.lexical_failure,
pgblend_data.link, pgblend_data.pending,
pgblend_data.posting, pgblend_data.profile,
pgblend_data.readable_collection, pgblend_data.readable_proof, pgblend_data.readable_words,
pgblend_data.renewed_proof,
pgblend_data.segment, pgblend_data.session_group,
pgblend_data.setting, pgblend_data.shard, pgblend_data.shard_bucket, pgblend_data.shard_front,
pgblend_data.shard_self,
pgblend_data.space_bridge,
pgblend_data.tombstone, pgblend_data.unsettled, pgblend_data.vocabulary
TO pgblend_reader;
GRANT SELECT ON
blend.degraded_searches, blend.model_costs, blend.queries_without_results, blend.search_latency,
blend.search_results, blend.search_stages, blend.search_volume, blend.searches,
pgblend_data.model_call
TO pgblend_analyst;
GRANT SELECT ON
blend.setting_changes
TO pgblend_admin;

GRANT INSERT, UPDATE, DELETE ON
pgblend_data.calibration, pgblend_data.collection_language, pgblend_data.document_name,
pgblend_data.document_summary,
pgblend_data.edge, pgblend_data.embedding_queue, pgblend_data.entity_extraction,
pgblend_data.evaluation_result, pgblend_data.judgement, pgblend_data.lexical_failure,
pgblend_data.unsettled
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
        WHERE a.attrelid = ANY('{
                pgblend_data.chunk, pgblend_data.document, pgblend_data.embedding_worker,
                pgblend_data.entity, pgblend_data.evaluation_run, pgblend_data.judged_query,
                pgblend_data.judged_set, pgblend_data.link}'::pg_catalog.regclass[])
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
pgblend_data.collection, pgblend_data.collection_grant, pgblend_data.key_reference,
pgblend_data.profile, pgblend_data.setting
TO pgblend_admin;
-- To remove a collection.
GRANT DELETE ON
pgblend_data.pending, pgblend_data.posting, pgblend_data.segment, pgblend_data.tombstone,
pgblend_data.vocabulary
TO pgblend_admin;
GRANT SELECT, INSERT (scope, subject, name, old_value, new_value)
ON pgblend_data.setting_history TO pgblend_admin;
GRANT DELETE ON pgblend_data.model_call TO pgblend_admin;
GRANT SELECT, DELETE ON pgblend_data.click, pgblend_data.search_log TO pgblend_admin;
GRANT INSERT (profile, rival, settings, rival_settings), UPDATE (stopped_at, stopped_by, outcome)
ON pgblend_data.experiment TO pgblend_admin;
GRANT SELECT ON pgblend_data.key_reference TO pgblend_admin;
GRANT SELECT, INSERT (collection_id, bucket, source_key), DELETE
ON pgblend_data.shard_outbox TO pgblend_admin;
GRANT SELECT, INSERT (collection_id, name, node), DELETE
ON pgblend_data.graph_change TO pgblend_writer;
GRANT INSERT (source_key) ON pgblend_data.graph_change TO pgblend_admin;
-- What the gateway's own connection may do; it reads a log's times to drop what is old.
GRANT SELECT, INSERT, DELETE ON pgblend_data.model_answer TO pgblend_gateway;
GRANT INSERT, DELETE ON pgblend_data.model_call, pgblend_data.search_log TO pgblend_gateway;
GRANT DELETE ON pgblend_data.click TO pgblend_gateway;
GRANT SELECT (clicked_at) ON pgblend_data.click TO pgblend_gateway;
GRANT SELECT (called_at) ON pgblend_data.model_call TO pgblend_gateway;
GRANT SELECT (searched_at) ON pgblend_data.search_log TO pgblend_gateway;
-- The HTTP door's login finds a token's role as pgblend_serve, which may do nothing else.
GRANT
SELECT (
    digest, role_name, scopes, expires_at, is_link, created_at, role_oid, made_in
),
UPDATE (digest, is_link)
ON pgblend_data.access_token TO pgblend_serve;
GRANT USAGE ON SCHEMA pgblend TO pgblend_serve;
GRANT EXECUTE ON FUNCTION pgblend._token_groups, pgblend._token_role TO pgblend_serve;
GRANT
SELECT, INSERT (name, digest, role_name, role_oid, scopes, groups, expires_at, is_link), DELETE
ON pgblend_data.access_token TO pgblend_admin;

-- What attached tables, embedding spaces and shards there are, nobody writes but routines with
-- their owner's rights: others believe it.
-- What readers, writers and admins may call.
GRANT EXECUTE ON FUNCTION
blend.ask, blend.audit_recall, blend.blend_scores, blend.chunk_embeddings, blend.click,
blend.convex_fusion,
blend.count_vectors, blend.drop_duplicates, blend.embed_text, blend.expand_query,
blend.fuzzy_search, blend.get_context, blend.get_setting, blend.graph_neighbors, blend.graph_node,
blend.graph_score, blend.graph_search, blend.hybrid_search, blend.last_search,
blend.lexical_search, blend.lexical_status, blend.mmr_select, blend.normalize_scores,
blend.rank_bonus, blend.recency_decay, blend.rerank_candidates, blend.rerank_passages, blend.rrf,
blend.search_diagnose, blend.search_explain, blend.search_facets, blend.setting_catalog,
blend.vector_search, blend.warm,
pgblend._answer_shards, pgblend._carry_out, pgblend._has_edges, pgblend._judged_set,
pgblend._model_request,
pgblend._search_plan,
pgblend._summary_counts
TO pgblend_reader;

GRANT EXECUTE ON FUNCTION
blend.add_edge, blend.add_judged_set, blend.add_links, blend.delete_document(bigint),
blend.delete_document(text, text), blend.delete_edge, blend.evaluate_queries, blend.feedback,
blend.forget_document, blend.grant_document, blend.ingest_document, blend.lexical_rebuild,
blend.lexical_seal,
blend.link_mentions, blend.record_judgement, blend.remove_judged_set, blend.reset_metadata,
blend.resolve_links, blend.retry_embeddings, blend.revoke_document,
blend.set_document_readers, blend.set_metadata, blend.set_summary,
blend.store_embeddings,
pgblend._add_far_edge, pgblend._adopt_vectors, pgblend._adoptable,
pgblend._check_text_search_config, pgblend._chunk_lexemes,
pgblend._clear_entity_edges,
pgblend._collection_settings,
pgblend._document_names, pgblend._documents_named, pgblend._fail_embeddings,
pgblend._fail_summary, pgblend._finish_run, pgblend._follow_settings, pgblend._import_links,
pgblend._join_passages, pgblend._keep_entities, pgblend._keep_mentions,
pgblend._lead_links, pgblend._link_entities, pgblend._link_names, pgblend._links_called,
pgblend._load_segments, pgblend._mention_names, pgblend._names_found,
pgblend._next_embeddings, pgblend._next_summaries, pgblend._note_feedback,
pgblend._passage_entities, pgblend._place_documents,
pgblend._renew_lexemes,
pgblend._renew_summaries, pgblend._repeated_keys, pgblend._sampled_chunks,
pgblend._seal_waiting, pgblend._start_run,
pgblend._start_worker, pgblend._stop_worker, pgblend._store_embeddings, pgblend._store_staged,
pgblend._store_token_counts
TO pgblend_writer;

GRANT EXECUTE ON FUNCTION
blend.add_collection, blend.attach_table, blend.attached_vectors, blend.bridge_embedding_space,
blend.check_attached_tables,
blend.create_embedding_space,
blend.create_hunspell_config,
blend.create_unaccent_config, blend.detach_table, blend.drop_embedding_space, blend.drop_profile,
blend.experiment_status, blend.fill_table, blend.grant_collection, blend.index_embedding_space,
blend.probe_attached_table,
blend.probe_embedding_space, blend.queue_missing_vectors, blend.remove_collection,
blend.reset_setting, blend.revoke_collection, blend.set_collection_settings, blend.set_profile,
blend.set_setting, blend.set_settings, blend.sign_groups, blend.start_experiment,
blend.stop_experiment,
blend.switch_embedding_space, blend.tune_embedding_space,
pgblend._apply_front, pgblend._apply_rows, pgblend._claim_rows, pgblend._clear_nodes,
pgblend._document_ids, pgblend._drop_entities, pgblend._embedding_inputs,
pgblend._end_graph_changes, pgblend._entity_marks, pgblend._front, pgblend._graph_changes,
pgblend._joined_nodes, pgblend._known_documents, pgblend._nodes_there, pgblend._note_orphans,
pgblend._note_pushed, pgblend._probe_text, pgblend._references, pgblend._row_changed,
pgblend._settle_graph, pgblend._settle_waiting, pgblend._stale_tables, pgblend._storages,
pgblend._store_key_edges, pgblend._waiting_rows
TO pgblend_admin;
