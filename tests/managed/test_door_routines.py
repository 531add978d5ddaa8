"""Every public routine and view through the door, as the owner: what it answers inside."""

import re
from collections.abc import Callable

import psycopg
import pytest
from conftest import PATIENT, Server
from managed.test_migrate import owned, run
from psycopg.types.json import Jsonb

from support.database import Database
from support.door import door_to
from support.gateway_process import GatewayProcess
from support.model_provider import DEFAULT_DIMENSIONS, ModelProvider

# Words that stand for ids, since a door takes more places of sequences.
PLACES = {
    "DEPLOY": "(SELECT document_id FROM documents WHERE source_key = 'deploy.md')",
    "CHUNKS": "ARRAY(SELECT chunk_id FROM chunks ORDER BY content)",
    "FIRST": "(SELECT chunk_id FROM chunks WHERE content LIKE '%Tuesday%')",
    "SEARCH": "(last_search() ->> 'search_id')::uuid",
    "FOUND": "rank, source_key, snippet, score, arms, degraded",
    "V": "array_fill(0.1, ARRAY[{dimensions}])::vector",
}
CALLS = """
SELECT add_collection('docs') > 0
SELECT add_collection('gone') > 0
SELECT set_collection_settings('docs', '{"chunk_size_tokens": 200}')
SELECT set_setting('rrf_k', '70')
SELECT set_settings('{"rrf_k": 50, "candidate_depth": 50}')
SELECT get_setting('rrf_k')
SELECT reset_setting('candidate_depth')
SELECT count(*), md5(string_agg(description, '' ORDER BY name)) FROM setting_catalog()
SELECT set_profile('mine', 'Mine', '{"rrf_k": 20}')
SELECT set_profile('other', 'Other', '{"fusion": "rrf"}')
SELECT create_unaccent_config('english')
SELECT create_hunspell_config('nowhere', 'nothing')
SELECT status, chunk_count FROM ingest_document('docs', 'deploy.md',
    'A release goes out on Tuesday. See [undo](undo.md).', 'Deploy', metadata => '{"team": "ops"}')
SELECT status, chunk_count FROM ingest_document('docs', 'undo.md',
    'Roll a release back with the old tag.', 'Undo')
SELECT status, chunk_count FROM ingest_document('docs', 'wine.txt',
    'Red wine of France, and a quokka by the sea.')
SELECT status, chunk_count FROM ingest_document('docs', 'gone.txt', 'Soon gone.')
SELECT status, chunk_count FROM ingest_document('docs', 'also.txt', 'Gone as well.')
SELECT set_metadata(DEPLOY, '{"colour": "red"}')
SELECT reset_metadata(DEPLOY)
SELECT set_summary(DEPLOY, 'How releases go out.')
SELECT add_links('docs', 'wine.txt', '[{"target": "deploy.md"}]')
SELECT resolve_links('docs') >= 0
SELECT link_mentions('docs')
SELECT add_edge(graph_node('docs', 'deploy.md'), graph_node('docs', 'wine.txt'), 'cites')
SELECT source_key, edge_type, distance FROM graph_neighbors(
    graph_node('docs', 'deploy.md')) ORDER BY 1, 2
SELECT delete_edge(graph_node('docs', 'deploy.md'), graph_node('docs', 'wine.txt'))
SELECT delete_document('docs', 'gone.txt')
SELECT place FROM forget_document((
    SELECT document_id FROM documents WHERE source_key = 'also.txt'))
SELECT create_embedding_space('main', '{model}', {dimensions}) > 0
SELECT create_embedding_space('own', 'brought', 3, active => false,
    probe => false, brings_vectors => true) > 0
SELECT store_embeddings('own', CHUNKS, ARRAY['[1,0,0]', '[0,1,0]', '[0,0,1]']::vector[])
SELECT model, expected_dimensions, dimensions FROM probe_embedding_space('main')
SELECT queue_missing_vectors('main')
SELECT retry_embeddings('main')
SELECT (embed_text(ARRAY['release']))[1] = (embed_text(ARRAY['release'], 'main'))[1]
SELECT store_embeddings('main', CHUNKS, embed_text(ARRAY(
    SELECT content FROM chunks ORDER BY content)))
SELECT name, chunks, vectors, missing FROM count_vectors() ORDER BY name
SELECT count(*) FROM chunk_embeddings(CHUNKS, 'own')
SELECT lexical_seal('docs') >= 0
SELECT lexical_rebuild('docs')
SELECT collection_name, status, chunks, pending, dead FROM lexical_status('docs')
SELECT index_embedding_space('main')
SELECT FOUND FROM lexical_search('release')
SELECT FOUND FROM lexical_search('release', options => '{"strict": true}')
SELECT FOUND FROM fuzzy_search('relaese')
SELECT FOUND FROM vector_search('release')
SELECT FOUND FROM hybrid_search('how does a release go out')
SELECT FOUND FROM hybrid_search('release', profile => 'gno')
SELECT FOUND FROM graph_search(query => 'release')
SELECT key, value, count FROM search_facets('release', ARRAY['team', '$title']) ORDER BY 1, 2
SELECT search_explain('release') -> 'results' -> 0 ->> 'source_key'
SELECT search_diagnose('release', 'undo.md') ->> 'verdict'
SELECT get_context('release') ->> 'query'
SELECT ask('When does a release go out?') #- '{stats}'
SELECT ask('When does a release go out?', answer => false) ->> 'query'
SELECT rank, passage FROM rerank_candidates('release')
SELECT rank, place FROM rerank_passages('release', ARRAY['wine', 'a release', 'sea'])
SELECT expand_query('release') IS NOT NULL
SELECT part FROM warm()
SELECT filter, queries FROM audit_recall(sample_size => 2)
SELECT ef_search > 0 FROM tune_embedding_space('main', 3)
SELECT add_judged_set('set', 'docs') > 0
SELECT record_judgement('set', 'release', 'deploy.md', 2) > 0
BEGIN
SELECT count(*) FROM hybrid_search('release')
SELECT last_search() - 'ms'
SELECT click(SEARCH, FIRST)
COMMIT
SELECT feedback(SEARCH, FIRST, 2) >= 0
SELECT evaluate_queries(1)
SELECT start_experiment('mine', 'other') > 0
SELECT profile, rival, verdict FROM experiment_status()
SELECT stop_experiment('mine') ->> 'verdict'
SELECT remove_judged_set('set', 'docs')
SELECT instead_of, pairs FROM bridge_embedding_space('own')
SELECT switch_embedding_space('own', true)
SELECT drop_embedding_space('main')
SELECT collection_name, rows_filled FROM attach_table('tickets', ARRAY['body'], 'subject')
SELECT fill_table('tickets')
INSERT INTO tickets VALUES (3, 'Big', 'A lorry is late.')
SELECT FOUND FROM lexical_search('late', options => '{"strict": true}')
SELECT table_name, problem FROM check_attached_tables()
SELECT table_name, rows FROM attached_vectors()
SELECT model, compared FROM probe_attached_table('tickets')
SELECT detach_table('tickets')
SELECT grant_collection('docs', 'pgblend_reader')
SELECT revoke_collection('docs', 'pgblend_reader')
SELECT status FROM ingest_document('docs', 'pay.txt', 'Salaries.', readers => '{hr}')
SELECT grant_document('docs', 'pay.txt', 'boss')
SELECT set_document_readers('docs', 'pay.txt', ARRAY['hr', 'boss', 'staff'])
SELECT source_key, readers FROM document_rights
SELECT revoke_document('docs', 'pay.txt', 'nobody')
SELECT sign_groups(ARRAY['hr'], 'pgblend_reader') LIKE '%.%'
SELECT remove_collection('gone')
SELECT drop_profile('other')
SELECT rrf(ARRAY[1, 3]), recency_decay(1, 3, 7), graph_score(.5, 1),
    rank_bonus(ARRAY[1, 4], '{"kind": "both_top", "depth": 5, "amount": 0.1}')
SELECT convex_fusion(ARRAY[.5, 1]), normalize_scores(ARRAY[1, 2, 4]), blend_scores(.5, .9, 1)
SELECT place, duplicate_of, reason FROM drop_duplicates(ARRAY['a', 'b', 'a'])
SELECT * FROM mmr_select(ARRAY[1, .9, .5], ARRAY['[1,0]', '[1,0]', '[0,1]']::vector[])
"""
NOISE = re.compile(
    r"(document |document:|#|chunk_id is |_id': |_ms': )[\d.]+"
    r"|\d{4}-\d\d-\d\d[ T][\d:.+]+|[0-9a-f-]{36}"
)
TABLE = """
    CREATE TABLE public.tickets (id integer PRIMARY KEY, subject text, body text);
    INSERT INTO public.tickets VALUES (1, 'Late', 'The parcel is late.'), (2, 'Small', 'Boots.')
"""
PUBLIC = """
    SELECT DISTINCT p.proname::text FROM pg_proc AS p
    WHERE p.pronamespace = 'blend'::regnamespace AND p.prokind = 'f' ORDER BY 1
"""
SET = "SELECT set_setting(%s, %s)"
VIEWS = """
    SELECT c.relname::text FROM pg_class AS c
    WHERE c.relnamespace = 'blend'::regnamespace AND c.relkind = 'v' ORDER BY 1
"""


def outcome(client: Database, call: str) -> str:
    """Return the rows of a statement, or its error, but for ids and times."""
    try:
        return NOISE.sub(r"\1~", str(client.rows(call)))
    except psycopg.Error as error:
        hint = error.diag.message_hint
        return NOISE.sub(r"\1~", f"{error.sqlstate} {error.diag.message_primary} {hint}").replace(
            "door_owner", "pgblend"
        )


@pytest.mark.slow
def test_every_public_routine_answers_as_inside(
    server: Server,
    template: str,
    new_database: Callable[..., str],
    gateway: GatewayProcess,
    model_provider: ModelProvider,
) -> None:
    chat = model_provider.chat_model
    given: dict[str, object] = {"gateway_url": gateway.url, "timeouts_ms": PATIENT}
    given |= {"expansion_model": chat, "answer_model": chat, "log_address": "localhost:9"}
    given |= {"rerank_model": model_provider.rerank_model, "log_queries": "on"}
    place = {"{model}": model_provider.model, "{dimensions}": str(DEFAULT_DIMENSIONS)}
    calls = CALLS
    for name, value in (PLACES | place).items():
        calls = re.sub(rf"\b{name}\b" if name.isupper() else re.escape(name), value, calls)
    with owned(new_database(), "door_owner", "CREATEROLE") as away:
        assert run(away, "migrate", "up", "--managed").exit_code == 0
        told = []
        home = new_database(template)
        with door_to(away) as through:
            for url in (home, through):
                with psycopg.connect(url, autocommit=True) as connection:
                    connection.execute("SET search_path = blend, public")
                    client = Database(connection)
                    client.rows(TABLE)
                    for name, value in given.items():
                        client.rows(SET, name, Jsonb(value))
                    lines = re.split(r"\n(?!    )", calls.strip())
                    counts = [f"SELECT count(*) FROM {view}" for view in client.column(VIEWS)]
                    told.append({call: outcome(client, call) for call in (*lines, *counts)})
                    public = set(client.column(PUBLIC))
    assert public - set(re.findall(r"\b\w+(?=\()", calls)) == set()
    inside, outside = told
    assert {one: (inside[one], outside[one]) for one in inside if inside[one] != outside[one]} == {}
    failed = [one for one in inside.values() if re.match(r"[0-9A-Z]{5} ", one)]
    assert len(failed) < len(public) / 10  # such as dictionaries that are not installed
