-- Tokens of the HTTP door. Its login is a member of pgblend_serve and of the roles of its tokens,
-- and inherits from none.

CREATE TABLE pgblend_data.access_token (
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    digest bytea NOT NULL,
    role_name name NOT NULL,
    scopes text[] NOT NULL,
    groups text[] NOT NULL DEFAULT '{}',
    expires_at timestamptz NOT NULL,
    is_link boolean NOT NULL DEFAULT false,
    created_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    created_at timestamptz NOT NULL DEFAULT now(),
    role_oid oid NOT NULL,
    made_in bigint NOT NULL DEFAULT (pg_control_system()).system_identifier,
    CONSTRAINT access_token_pkey PRIMARY KEY (id),
    CONSTRAINT access_token_digest_key UNIQUE (digest),
    CONSTRAINT access_token_name_check CHECK (char_length(name) BETWEEN 1 AND 200),
    CONSTRAINT access_token_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT access_token_groups_check CHECK (array_position(groups, NULL) IS NULL),
    CONSTRAINT access_token_scopes_check CHECK (
        cardinality(scopes) > 0
        AND scopes <@ ARRAY['search', 'ask', 'feedback', 'remember', 'metrics'])
);
COMMENT ON TABLE pgblend_data.access_token IS
'Who may call `pgblend serve`, as which role. No token is here, but what tells it.';
COMMENT ON COLUMN pgblend_data.access_token.id IS 'What `pgblend serve token revoke` takes.';
COMMENT ON COLUMN pgblend_data.access_token.name IS 'What it is for, as its maker says.';
COMMENT ON COLUMN pgblend_data.access_token.digest IS 'sha256 of the token, which is random.';
COMMENT ON COLUMN pgblend_data.access_token.role_name IS 'Role that its calls are made as.';
COMMENT ON COLUMN pgblend_data.access_token.scopes IS
'What it is good for: search, ask (the answer model), feedback, remember, metrics.';
COMMENT ON COLUMN pgblend_data.access_token.groups IS
'Groups that its calls hold: readers of documents (document_reader).';
COMMENT ON COLUMN pgblend_data.access_token.expires_at IS 'When it ends by itself.';
COMMENT ON COLUMN pgblend_data.access_token.is_link IS
'A link to the page: a browser that opens it, once and soon, puts the digest of its own token '
'here.';
COMMENT ON COLUMN pgblend_data.access_token.created_by IS 'Role that made it.';
COMMENT ON COLUMN pgblend_data.access_token.created_at IS 'When it was made.';
COMMENT ON COLUMN pgblend_data.access_token.role_oid IS
'The role as it was then: one made later under the name is another, and has no token.';
COMMENT ON COLUMN pgblend_data.access_token.made_in IS
'Server whose numbers of roles these are; in another one, after a restore, the name alone counts.';
CREATE POLICY access_token_serve ON pgblend_data.access_token FOR SELECT
USING ((SELECT pg_has_role('pgblend_serve', 'USAGE')));
-- A link that was just made becomes the token of the browser that opens it.
-- Who opens it may take its role: else another login would make a token of another role its own.
CREATE POLICY access_token_open ON pgblend_data.access_token FOR UPDATE
USING (
    (SELECT pg_has_role('pgblend_serve', 'USAGE'))
    AND is_link AND created_at > now() - interval '10 minutes'
    AND EXISTS (
        SELECT FROM pg_catalog.pg_roles AS r
        WHERE
            r.rolname = role_name AND pg_has_role(session_user, r.oid, 'MEMBER')
            AND (
                r.oid = role_oid
                OR made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
            )
    )
)
WITH CHECK ((SELECT pg_has_role('pgblend_serve', 'USAGE')) AND NOT is_link);
-- A policy a command, none for UPDATE: admins in pgblend_serve would change others' tokens.
CREATE POLICY access_token_list ON pgblend_data.access_token FOR SELECT
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
CREATE POLICY access_token_revoke ON pgblend_data.access_token FOR DELETE
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
-- Nobody makes a token for a role that is not theirs to take.
CREATE POLICY access_token_make ON pgblend_data.access_token FOR INSERT
WITH CHECK (
    (SELECT pg_has_role('pgblend_admin', 'USAGE')) AND pg_has_role(role_name, 'MEMBER')
    AND role_oid = (
        SELECT r.oid FROM pg_catalog.pg_roles AS r
        WHERE r.rolname = role_name
    )
);
ALTER TABLE pgblend_data.access_token ENABLE ROW LEVEL SECURITY;
