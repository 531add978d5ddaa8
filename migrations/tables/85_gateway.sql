-- What the gateway writes: the log of searches, the ledger of model calls, kept answers. No foreign
-- key leads to the store. Backends write none of them (a search in a read only transaction, on a
-- standby or one that is rolled back is logged too): the gateway does, with the role
-- pgblend_gateway, which may do nothing else. Only admins read them, for a search's query and
-- results belong to whoever searched. In model_answer is nothing that was made of a document.

CREATE TABLE pgblend_data.search_log (
    search_id uuid NOT NULL,
    searched_at timestamptz NOT NULL,
    role_name text NOT NULL,
    query text,
    collections text[] NOT NULL,
    profile text,
    mode text,
    result_count integer NOT NULL,
    milliseconds double precision NOT NULL,
    stages jsonb NOT NULL,
    degraded text[] NOT NULL,
    top_score double precision,
    results jsonb NOT NULL,
    trace jsonb NOT NULL,
    purpose text NOT NULL DEFAULT 'search',
    CONSTRAINT search_log_pkey PRIMARY KEY (search_id)
);
CREATE INDEX search_log_searched_at_btree
ON pgblend_data.search_log USING btree (searched_at);
COMMENT ON TABLE pgblend_data.search_log IS
'One row a search: stages is [{"name", "ms", "rows"}, …], results the first ten as [{"rank", '
'"chunk_id", "document_id", "score"}, …], query its text, its digest or NULL (log_queries).';
COMMENT ON COLUMN pgblend_data.search_log.purpose IS
'search, facets, explain or diagnose; or what the session said of it (pgblend.purpose): '
'evaluation or typed. Views have searches alone.';

CREATE TABLE pgblend_data.model_call (
    id bigint GENERATED ALWAYS AS IDENTITY,
    called_at timestamptz NOT NULL,
    task text NOT NULL,
    model text NOT NULL,
    provider text NOT NULL,
    outcome text NOT NULL,
    attempts integer NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cost_usd double precision,
    milliseconds double precision NOT NULL,
    CONSTRAINT model_call_pkey PRIMARY KEY (id)
);
CREATE INDEX model_call_called_at_btree
ON pgblend_data.model_call USING btree (called_at);
COMMENT ON TABLE pgblend_data.model_call IS
'One row a call to a hosted model, never what was asked or answered: outcome is ok or an error''s '
'code, cost_usd NULL where the price is not known.';

CREATE TABLE pgblend_data.model_answer (
    key bytea NOT NULL,
    answer jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT model_answer_pkey PRIMARY KEY (key),
    CONSTRAINT model_answer_key_check CHECK (octet_length(key) = 32)
);
CREATE INDEX model_answer_created_at_btree
ON pgblend_data.model_answer USING btree (created_at);
COMMENT ON TABLE pgblend_data.model_answer IS
'Expansions that models have given, by the sha256 of prompt version, model, query and language.';
