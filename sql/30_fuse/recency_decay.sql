-- recency_decay: a score that halves with each half-life of age: score · 0.5^(age / half-life).
-- Ages below 0 (dates to come) count as 0, and so does a NULL age. A NULL score stays NULL, a NULL
-- half-life changes nothing; one that is not above 0, and a negative score, are errors. The formula
-- is that of plpy/search/fusion.py.
CREATE OR REPLACE FUNCTION blend.recency_decay(
    score double precision,
    age_days double precision,
    half_life_days double precision
)
RETURNS double precision
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    IF NOT half_life_days BETWEEN 1e-6 AND 1e6 THEN
        RAISE EXCEPTION 'half_life_days is %: expected a number of days from 0.000001 to 1000000',
            half_life_days
            USING ERRCODE = '22023', HINT = 'NULL is no decay.';
    ELSIF NOT score BETWEEN 0 AND 1e100 THEN
        RAISE EXCEPTION 'score is %: expected a number from 0 to 1e100', score
            USING ERRCODE = '22023', HINT = 'normalize_scores brings scores to [0, 1].';
    END IF;
    RETURN CASE
        WHEN half_life_days IS NULL THEN score
        ELSE score * 0.5 ^ least(greatest(coalesce(age_days, 0), 0) / half_life_days, 1000)
    END;
END;
$function$;
