"""Roles, settings and profiles: what is kept in front of the stored documents."""

from alembic import op

from pgblend.migrations.replace_routines import execute_script

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ROLES = """
DO $do$
DECLARE
    role_name text;
    previous_role text;
BEGIN
    -- Roles belong to the whole server: one migration at a time makes them, whatever its database.
    LOCK TABLE pg_catalog.pg_authid IN SHARE ROW EXCLUSIVE MODE;
    FOREACH role_name IN ARRAY ARRAY['pgblend_reader', 'pgblend_writer', 'pgblend_admin'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = role_name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        END IF;
        -- Each role can do what the one before it can.
        IF NOT pg_has_role(role_name, coalesce(previous_role, role_name), 'MEMBER') THEN
            EXECUTE format('GRANT %I TO %I', previous_role, role_name);
        END IF;
        previous_role := role_name;
    END LOOP;
    -- Its own: it writes logs and nothing else.
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'pgblend_gateway') THEN
        CREATE ROLE pgblend_gateway NOLOGIN;
    END IF;
END
$do$;

CREATE SCHEMA pgblend;
GRANT USAGE ON SCHEMA pgblend, pgblend_data TO pgblend_reader;
GRANT USAGE ON SCHEMA pgblend_data TO pgblend_gateway;
COMMENT ON SCHEMA pgblend_data IS 'pgblend: tables. Query them through the schema pgblend.';
"""

# Roles belong to the whole server: another database may still use them, and then they stay.
DROP_ROLES = """
DROP SCHEMA pgblend;
DROP OWNED BY pgblend_reader, pgblend_writer, pgblend_admin, pgblend_gateway;
DO $do$
BEGIN
    DROP ROLE pgblend_admin, pgblend_writer, pgblend_reader, pgblend_gateway;
EXCEPTION WHEN dependent_objects_still_exist THEN
    RAISE NOTICE 'the roles pgblend_reader, _writer, _admin and _gateway stay: %', SQLERRM;
END
$do$;
"""

SETTINGS = """
CREATE TABLE pgblend_data.setting (
    name text NOT NULL,
    value jsonb NOT NULL,
    changed_by name NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT setting_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE pgblend_data.setting IS
'Settings that differ from their defaults; names, types and defaults: pgblend.setting_catalog().';

CREATE TABLE pgblend_data.setting_history (
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    old_value jsonb,
    new_value jsonb,
    changed_by name NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT setting_history_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE pgblend_data.setting_history IS
'Every change of a setting, by whom and when; a NULL value means the default.';

CREATE TABLE pgblend_data.profile (
    name text NOT NULL,
    description text NOT NULL,
    settings jsonb NOT NULL,
    CONSTRAINT profile_pkey PRIMARY KEY (name),
    CONSTRAINT profile_settings_object_check CHECK (jsonb_typeof(settings) = 'object')
);
COMMENT ON TABLE pgblend_data.profile IS
'Named ranking recipes: search settings that hybrid_search(profile => …) puts between the '
'collection''s and the defaults.';

INSERT INTO pgblend_data.profile (name, description, settings) VALUES
('balanced', 'The default: reciprocal rank fusion of words and vectors, equal weights.', '{}');
"""


def upgrade() -> None:
    execute_script(op.get_bind(), ROLES)
    execute_script(op.get_bind(), SETTINGS)


def downgrade() -> None:
    execute_script(
        op.get_bind(),
        "DROP TABLE pgblend_data.profile, pgblend_data.setting_history, pgblend_data.setting;",
    )
    execute_script(op.get_bind(), DROP_ROLES)
