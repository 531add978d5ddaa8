-- _bucket_of: the bucket that a value of metadata or of a field falls into, as a filter's operand.
-- `bucket` is a unit (day, week, month, quarter, year), of which a date gives {"gte": first day,
-- "lt": the next one's}, in UTC; or an array of rising bounds, numbers or dates: {"gte": the last
-- one that is not above the value, "lt": the next}. Below the first bound, and from the last on,
-- one of the two is missing. "date" gives the day itself. NULL where the value cannot be compared;
-- without a bucket the value stays as it is.
CREATE OR REPLACE FUNCTION pgblend._bucket_of(value jsonb, bucket jsonb)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    unit text := bucket #>> '{}';
    kind text := jsonb_typeof(value);
    moment timestamp := CASE WHEN kind = 'string'
        THEN pgblend._iso_timestamp(value #>> '{}') AT TIME ZONE 'UTC' END;
    below integer;
BEGIN
    IF bucket IS NULL OR value IS NULL THEN
        RETURN value;
    ELSIF unit = 'date' THEN
        RETURN to_jsonb(moment::date);
    ELSIF jsonb_typeof(bucket) = 'string' THEN
        moment := date_trunc(unit, moment);
        RETURN CASE WHEN moment IS NOT NULL THEN jsonb_build_object(
            'gte', moment::date,
            'lt', (moment + CASE unit WHEN 'quarter' THEN '3 months' ELSE '1 ' || unit END
                ::interval)::date) END;
    END IF;
    SELECT count(*) INTO below FROM jsonb_array_elements(bucket) AS b (bound)
    WHERE CASE jsonb_typeof(b.bound) WHEN kind THEN CASE kind
        WHEN 'number' THEN b.bound::numeric <= _bucket_of.value::numeric
        WHEN 'string'
            THEN pgblend._iso_timestamp(b.bound #>> '{}') AT TIME ZONE 'UTC' <= moment
        END END;
    IF kind <> jsonb_typeof(bucket -> 0) OR kind <> 'number' AND moment IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'gte', CASE WHEN below > 0 THEN bucket -> below - 1 END, 'lt', bucket -> below));
END;
$function$;
