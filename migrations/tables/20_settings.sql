-- Settings, their history, and profiles. Who changed a row is the role in force.

CREATE TABLE pgblend_data.setting (
    name text NOT NULL,
    value jsonb NOT NULL,
    changed_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT setting_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE pgblend_data.setting IS
'Settings that differ from their defaults; names, types and defaults: blend.setting_catalog().';

CREATE TABLE pgblend_data.setting_history (
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    old_value jsonb,
    new_value jsonb,
    changed_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    changed_at timestamptz NOT NULL DEFAULT now(),
    scope text NOT NULL DEFAULT 'database',
    subject text,
    CONSTRAINT setting_history_pkey PRIMARY KEY (id),
    CONSTRAINT setting_history_scope_check CHECK (scope IN ('database', 'collection', 'profile')),
    CONSTRAINT setting_history_subject_check CHECK ((scope = 'database') = (subject IS NULL))
);
COMMENT ON TABLE pgblend_data.setting_history IS
'Every change of a setting, of the database, a collection or a profile (subject is its name), by '
'whom and when; a NULL value means that it was not set. A profile''s text goes by "description".';

CREATE TABLE pgblend_data.profile (
    name text NOT NULL,
    description text NOT NULL,
    settings jsonb NOT NULL,
    built_in boolean NOT NULL DEFAULT false,
    changed_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT profile_pkey PRIMARY KEY (name),
    CONSTRAINT profile_name_check CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    CONSTRAINT profile_settings_object_check CHECK (jsonb_typeof(settings) = 'object')
);
COMMENT ON TABLE pgblend_data.profile IS
'Named ranking recipes: search settings that hybrid_search(profile => …) puts between the '
'collection''s and the defaults.';
COMMENT ON COLUMN pgblend_data.profile.built_in IS
'Whether it comes with pgblend and stays as it is.';
