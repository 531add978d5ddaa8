-- What relevance means in a collection, by embedding space: a curve that was fitted on its judged
-- queries, and how near random passages are to each other. Who reads the collection reads it.

CREATE TABLE pgblend_data.calibration (
    collection_id bigint NOT NULL,
    space text NOT NULL,
    model text NOT NULL,
    mean double precision NOT NULL,
    deviation double precision NOT NULL,
    coefficients double precision [],
    ranking jsonb,
    thresholds double precision [],
    figures jsonb NOT NULL,
    passages bigint NOT NULL,
    judgements bigint NOT NULL,
    fitted_by name NOT NULL
    DEFAULT coalesce(nullif(current_setting('role'), 'none')::name, session_user),
    fitted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT calibration_pkey PRIMARY KEY (collection_id, space),
    CONSTRAINT calibration_collection_id_fkey FOREIGN KEY (collection_id)
    REFERENCES pgblend_data.collection (id) ON DELETE CASCADE,
    CONSTRAINT calibration_space_fkey FOREIGN KEY (space)
    REFERENCES pgblend_data.embedding_space (name) ON DELETE CASCADE,
    CONSTRAINT calibration_mean_check CHECK (mean BETWEEN -2 AND 2),
    CONSTRAINT calibration_deviation_check CHECK (deviation > 0 AND deviation <= 2),
    CONSTRAINT calibration_coefficients_check CHECK (
        cardinality(coefficients) = 9 AND NOT coefficients && '{NaN,Infinity,-Infinity}'
    ),
    CONSTRAINT calibration_thresholds_check CHECK (
        NOT thresholds && '{NaN,Infinity,-Infinity}'
    )
);
CREATE INDEX calibration_space_btree ON pgblend_data.calibration USING btree (space);
COMMENT ON TABLE pgblend_data.calibration IS
'What relevance means in a collection searched in an embedding space (pgblend calibrate).';
COMMENT ON COLUMN pgblend_data.calibration.model IS
'The space''s model when it was fitted: for another one it does not hold.';
COMMENT ON COLUMN pgblend_data.calibration.mean IS
'Mean of the cosines of random pairs of passages.';
COMMENT ON COLUMN pgblend_data.calibration.deviation IS 'Their standard deviation.';
COMMENT ON COLUMN pgblend_data.calibration.coefficients IS
'The curve: intercept, score, lead, cosine, words, and its gate: intercept, cosine, words, '
'known (plpy/search/relevance.py); NULL: too few judged queries.';
COMMENT ON COLUMN pgblend_data.calibration.ranking IS
'The settings that scores depend on, as the curve was fitted; other searches do not have it.';
COMMENT ON COLUMN pgblend_data.calibration.thresholds IS
'The gain at which a list ends for coverages of 50 to 99 percent; NULL where none is long enough.';
COMMENT ON COLUMN pgblend_data.calibration.figures IS
'What it was fitted on and how well it holds on the judged queries that were held back.';
COMMENT ON COLUMN pgblend_data.calibration.passages IS 'Passages of the collection by then.';
COMMENT ON COLUMN pgblend_data.calibration.judgements IS 'Judgements on it by then.';
