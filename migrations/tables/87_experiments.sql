-- What people clicked, and experiments that compare two profiles by that.

CREATE TABLE pgblend_data.click (
    search_id uuid NOT NULL,
    chunk_id bigint NOT NULL,
    role_name text NOT NULL,
    clicked_at timestamptz NOT NULL DEFAULT now(),
    is_shown boolean NOT NULL DEFAULT false,
    CONSTRAINT click_pkey PRIMARY KEY (search_id, chunk_id, role_name)
);
CREATE INDEX click_clicked_at_btree ON pgblend_data.click USING btree (clicked_at);
CREATE INDEX click_waiting_btree ON pgblend_data.click USING btree (role_name) WHERE NOT is_shown;
COMMENT ON TABLE pgblend_data.click IS
'Passages that were opened, by the search that showed them. One counts where the log has that '
'search, of the same role, with that passage among its first ten.';
COMMENT ON COLUMN pgblend_data.click.is_shown IS
'Whether the log said so; false: it did not have the search yet.';

CREATE TABLE pgblend_data.experiment (
    id bigint GENERATED ALWAYS AS IDENTITY,
    profile text NOT NULL,
    rival text NOT NULL,
    settings jsonb NOT NULL,
    rival_settings jsonb NOT NULL,
    started_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    started_at timestamptz NOT NULL DEFAULT now(),
    stopped_by name,
    stopped_at timestamptz,
    outcome jsonb,
    CONSTRAINT experiment_pkey PRIMARY KEY (id),
    CONSTRAINT experiment_rival_check CHECK (rival <> profile),
    CONSTRAINT experiment_stopped_check CHECK (
        (stopped_at IS NULL) = (outcome IS NULL) AND (stopped_at IS NULL) = (stopped_by IS NULL)
    )
);
CREATE UNIQUE INDEX experiment_profile_key ON pgblend_data.experiment (profile)
WHERE stopped_at IS NULL;
COMMENT ON TABLE pgblend_data.experiment IS
'Experiments, running and past: searches by profile show rows of its rival as well.';
COMMENT ON COLUMN pgblend_data.experiment.settings IS
'Settings of the profile when it began, by which both orders are made until it ends.';
COMMENT ON COLUMN pgblend_data.experiment.rival_settings IS 'Those of the rival.';
COMMENT ON COLUMN pgblend_data.experiment.outcome IS
'What it came to (experiment_status) when it was stopped; NULL: it runs.';

ALTER TABLE pgblend_data.profile ADD COLUMN experiment_id bigint;
COMMENT ON COLUMN pgblend_data.profile.experiment_id IS
'The experiment that searches by this profile take part in (pgblend_data.experiment).';
