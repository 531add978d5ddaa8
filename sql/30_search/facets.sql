-- search_facets: how many of a search's candidates have each value of some keys.
-- What is counted is the pool that pages are cut from, not one page. It has all candidates that
-- the arms gave and that min_score, min_relevance and the other stages left: at most
-- candidate_depth from each arm. pool_size says how many. Passages beyond it are not counted. Keys
-- are those of filters (metadata, "a.b", "$language", …), dates by day; a value can be put into a
-- filter. Of arrays each element counts once. By key as asked, then by count, then by value; at
-- most result_limit values a key. A last row of each key with value NULL counts the passages
-- without one (missing, null or an empty array), where there are any.
-- `buckets` has for some of the keys how their values are put together: day, week (from Monday),
-- month, quarter or year of dates, in UTC; or an array of rising bounds, numbers or dates. A
-- value is then {"gte": from, "lt": to}, which can be put into a filter as well (ranges look
-- at no arrays there); below the first bound and from the last on it has one of the two. Those with
-- most passages are kept, and come in their order; what is no date, or no number, has none.
-- count_estimate is about how many passages have the value among all that have any of the query's
-- words and pass the filter, in the pool or not. It is exact up to 1,000 such passages. Beyond it
-- comes from 1,000 of them taken at random: of a value that a share p has, the standard error is
-- sqrt(p (1 - p) / 1000) of all. It is never below count, and NULL where BM25 ranks no words.
-- Collections, filter, profile, options, query_embedding and errors are those of hybrid_search.
-- offset counts for nothing, and no stage runs that could only reorder the pool. NULL or blank
-- query: no rows.
-- Examples: SELECT * FROM search_facets('wine', ARRAY['author', '$language']);
-- search_facets('wine', ARRAY['price', '$date'], buckets => '{"price": [9, 20], "$date": "year"}').
CREATE OR REPLACE FUNCTION blend.search_facets(
    query text,
    keys text[],
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL,
    buckets jsonb DEFAULT '{}'
)
RETURNS TABLE (
    key text,
    value jsonb,
    count bigint,
    document_count bigint,
    pool_size bigint,
    count_estimate bigint
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
ROWS 20
AS $function$
DECLARE
    problem text;
    problem_hint text;
    search record;
BEGIN
    PERFORM pgblend._check_result_limit(result_limit);
    PERFORM pgblend._check_keys(keys);
    SELECT regexp_replace(f.problem, '^filter', 'keys'), f.hint INTO problem, problem_hint
    FROM unnest(keys) AS k
    CROSS JOIN LATERAL pgblend._filter_condition(
        jsonb_build_object(k, '{"exists": true}'::jsonb), 1) AS f
    WHERE (k LIKE '$%' OR k LIKE '%.%') AND f.problem IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '%', problem USING ERRCODE = '22023', HINT = problem_hint;
    END IF;
    PERFORM pgblend._check_buckets(buckets, keys);
    search := pgblend._search(
        query, 0, collections, filter, profile,
        coalesce(options, '{}') || '{"expand": "off", "rerank": "off"}', query_embedding,
        traced => 'facets');
    RETURN QUERY SELECT f.* FROM pgblend._facets_of(
        search.trace, keys, result_limit, buckets,
        pgblend._searched_collections(collections)) AS f;
END;
$function$;

-- _check_keys: raise 22023 unless `keys` can be counted, but for the names of fields among them.
CREATE OR REPLACE FUNCTION pgblend._check_keys(keys text[])
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    IF coalesce(cardinality(keys), 0) NOT BETWEEN 1 AND 100 OR array_position(keys, NULL) > 0 THEN
        RAISE EXCEPTION 'keys is %: expected from 1 to 100 keys, none of them NULL',
            coalesce(left(keys::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: ARRAY[''author'', ''$language'']';
    END IF;
END;
$function$;

-- _facets_of: the rows of search_facets, of a search that was traced for it; all is checked.
CREATE OR REPLACE FUNCTION pgblend._facets_of(
    trace jsonb,
    keys text[],
    result_limit integer,
    buckets jsonb,
    searched bigint[]
)
RETURNS TABLE (
    key text,
    value jsonb,
    count bigint,
    document_count bigint,
    pool_size bigint,
    count_estimate bigint
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 20
AS $function$
DECLARE
    sample jsonb := trace -> 'sample';
    pool bigint[] := ARRAY(
        SELECT (c ->> 'chunk_id')::bigint
        FROM jsonb_array_elements(trace -> 'candidates') AS c
        WHERE c -> 'places' ? 'page');
BEGIN
    RETURN QUERY
    WITH counted AS (
        SELECT
            v.key_place,
            (array_agg(v.value ORDER BY v.value::text COLLATE "C"))[1] AS value,
            count(DISTINCT v.chunk_id) AS count,
            count(DISTINCT v.document_id) AS document_count
        FROM pgblend._facet_values(pool, keys, buckets, searched) AS v
        GROUP BY v.key_place, v.value
    ),

    estimated AS (
        SELECT v.key_place, v.value, count(DISTINCT v.chunk_id) AS count
        FROM pgblend._facet_values(ARRAY(
            SELECT s::bigint FROM jsonb_array_elements_text(sample -> 'chunk_ids') AS s
        ), keys, buckets, searched) AS v
        GROUP BY v.key_place, v.value
    ),

    ranked AS (
        SELECT
            c.*,
            row_number() OVER (
                PARTITION BY c.key_place
                ORDER BY c.value IS NULL, c.count DESC,
                    CASE jsonb_typeof(c.value) WHEN 'number' THEN (c.value #>> '{}')::numeric END,
                    (c.value #>> '{}') COLLATE "C", jsonb_typeof(c.value)
            ) AS place
        FROM counted AS c
    )

    SELECT
        keys[r.key_place],
        r.value,
        r.count,
        r.document_count,
        cardinality(pool)::bigint,
        CASE WHEN sample IS NOT NULL THEN greatest(r.count, round(
            coalesce(e.count, 0) * (sample -> 'total')::numeric
            / greatest((sample -> 'looked_at')::numeric, 1))::bigint) END
    FROM ranked AS r
    LEFT JOIN estimated AS e
        ON e.key_place = r.key_place AND e.value IS NOT DISTINCT FROM r.value
    WHERE r.value IS NULL OR r.place <= result_limit
    ORDER BY r.key_place, r.value IS NULL,
        CASE WHEN buckets ? keys[r.key_place] THEN coalesce(r.value -> 'gte', 'null') END, r.place;
END;
$function$;

-- _check_buckets: raise 22023 unless `buckets` says of some of the keys how to put values together.
CREATE OR REPLACE FUNCTION pgblend._check_buckets(buckets jsonb, keys text[])
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    wrong text;
BEGIN
    IF jsonb_typeof(buckets) <> 'object' THEN
        RAISE EXCEPTION 'buckets is %: expected a JSON object', left(buckets::text, 200)
            USING ERRCODE = '22023', HINT = 'For example: {"$date": "month", "price": [10, 20]}';
    END IF;
    SELECT e.key INTO wrong FROM jsonb_each(buckets) AS e WHERE e.key <> ALL(keys) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'buckets has the key "%", which is not counted', left(wrong, 200)
            USING ERRCODE = '22023', HINT = 'Name it in keys as well.';
    END IF;
    SELECT format('"%s" is %s', left(e.key, 200), left(e.value::text, 200)) INTO wrong
    FROM jsonb_each(buckets) AS e
    WHERE CASE jsonb_typeof(e.value)
        WHEN 'string' THEN e.value #>> '{}' NOT IN ('day', 'week', 'month', 'quarter', 'year')
        WHEN 'array' THEN jsonb_array_length(e.value) NOT BETWEEN 1 AND 100 OR EXISTS (
            SELECT FROM jsonb_array_elements(e.value) WITH ORDINALITY AS b (bound, place)
            WHERE pgblend._bucket_of(b.bound, e.value) IS DISTINCT FROM jsonb_strip_nulls(
                jsonb_build_object('gte', b.bound, 'lt', e.value -> b.place::integer)))
        ELSE true END
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'buckets: %: expected day, week, month, quarter or year, or an array of '
            'at most 100 rising numbers or dates', wrong
            USING ERRCODE = '22023', HINT = 'For example: {"$date": "month", "price": [10, 20]}';
    END IF;
END;
$function$;

-- _facet_values: what facets count: one row for each chunk, key and value, or bucket of values.
-- Dates of built-in fields are days in UTC, texts are composed (Unicode's form NFC), as filters
-- meet them. The rest is as _field_values has it. collection_ids are
-- those of the chunks: a database that has none of them is not asked.
CREATE OR REPLACE FUNCTION pgblend._facet_values(
    chunk_ids bigint[],
    keys text[],
    buckets jsonb,
    collection_ids bigint[]
)
RETURNS TABLE (key_place bigint, chunk_id bigint, document_id bigint, value jsonb)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 500
BEGIN ATOMIC
    SELECT
        v.key_place,
        v.chunk_id,
        v.document_id,
        CASE
            WHEN buckets ? keys[v.key_place]
                THEN pgblend._bucket_of(v.value, buckets -> keys[v.key_place])
            WHEN keys[v.key_place] IN ('$date', '$ingested_at', '$modified_at')
                THEN pgblend._bucket_of(v.value, '"date"')
            WHEN jsonb_typeof(v.value) = 'string' THEN to_jsonb(normalize(v.value #>> '{}'))
            ELSE v.value
        END AS value
    FROM pgblend._field_values(chunk_ids, keys) AS v;
END;

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

-- _field_distances: how far values of chunks are from origins, one for each key.
-- An origin is JSON: a number, which numbers are compared with, or a text, "now" or a date of ISO
-- 8601, which dates are; their distance is in days. `place` counts the keys from 0. Of an array the
-- nearest value counts. Where there is no such value there is no row. Keys are those of filters.
CREATE OR REPLACE FUNCTION pgblend._field_distances(
    chunk_ids bigint[],
    keys text[],
    origins text[]
)
RETURNS TABLE (place integer, chunk_id bigint, distance double precision)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 200
BEGIN ATOMIC
    WITH compared AS (
        SELECT
            v.key_place,
            v.chunk_id,
            CASE
                WHEN jsonb_typeof(o.origin::jsonb) = 'string'
                    THEN abs(extract(
                        EPOCH FROM pgblend._iso_timestamp(v.value #>> '{}')
                        - coalesce(pgblend._iso_timestamp(o.origin::jsonb #>> '{}'), now())
                    )) / 86400
                WHEN jsonb_typeof(v.value) = 'number'
                    THEN abs(v.value::numeric - o.origin::numeric)
            END AS distance
        FROM pgblend._field_values(chunk_ids, keys) AS v
        INNER JOIN unnest(origins) WITH ORDINALITY AS o (origin, place) ON v.key_place = o.place
    )

    SELECT
        c.key_place::integer - 1 AS place,
        c.chunk_id,
        min(c.distance)::double precision AS distance
    FROM compared AS c
    WHERE c.distance < 1e30  -- what a double holds, and no NULL
    GROUP BY c.key_place, c.chunk_id;
END;

-- _field_values: what chunks have under keys: one row for each chunk, key and value.
-- Keys are those of filters: of metadata, the chunk's over the document's, or built-in fields. An
-- array gives its elements, each once, and a path leads through arrays of objects, as a filter's.
-- value is NULL where there is none: the key is missing, or null, or an array without elements.
-- Chunks that are not there, or not visible, have no row.
CREATE OR REPLACE FUNCTION pgblend._field_values(chunk_ids bigint[], keys text[])
RETURNS TABLE (key_place bigint, chunk_id bigint, document_id bigint, value jsonb)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 500
BEGIN ATOMIC
    WITH passage AS MATERIALIZED (
        SELECT
            c.id,
            c.document_id,
            d.metadata || c.metadata AS metadata,
            CASE
                WHEN array_to_string(keys, ' ') LIKE '%$%'  -- else none is asked for
                    THEN jsonb_build_object(
                        '$chunk_id', c.id,
                        '$collection', n.name,
                        '$date', coalesce(
                            pgblend._iso_timestamp(c.metadata ->> 'date'),
                            d.modified_at,
                            pgblend._iso_timestamp(d.metadata ->> 'date'),
                            d.ingested_at
                        ),
                        '$document_id', d.id,
                        '$ingested_at', d.ingested_at,
                        '$kind', c.kind,
                        '$language', d.text_search_config,
                        '$media_type', d.media_type,
                        '$modified_at', d.modified_at,
                        '$source_key', d.source_key,
                        '$title', d.title,
                        '$uri', d.uri
                    )
            END AS fields
        FROM pgblend_data.chunk AS c
        INNER JOIN pgblend_data.document AS d ON c.document_id = d.id
        INNER JOIN pgblend_data.collection AS n ON d.collection_id = n.id
        WHERE c.id = ANY(chunk_ids)
    ),

    asked AS MATERIALIZED (
        SELECT
            k.place,
            k.name,
            k.name LIKE '$%' AND k.name NOT LIKE '$metadata.%' AS is_field,
            w.whole,
            (
                SELECT ('lax $' || string_agg('.' || to_json(s.step)::text, '' ORDER BY s.place)
                    || '[*]')
                FROM string_to_table(w.whole, '.') WITH ORDINALITY AS s (step, place)
            )::jsonpath AS path
        FROM unnest(keys) WITH ORDINALITY AS k (name, place)
        CROSS JOIN LATERAL regexp_replace(k.name, E'^\\$metadata\\.', '') AS w (whole)
    ),

    found AS MATERIALIZED (
        SELECT
            a.place,
            p.id,
            p.document_id,
            CASE
                WHEN a.is_field THEN p.fields -> a.name
                ELSE coalesce(
                    p.metadata -> a.whole,
                    jsonb_path_query_array(p.metadata, a.path, '{}', silent => true)
                )
            END AS value
        FROM asked AS a
        CROSS JOIN passage AS p
    )

    SELECT
        f.place,
        f.id,
        f.document_id,
        e.value
    FROM found AS f
    LEFT JOIN LATERAL (
        SELECT DISTINCT v.value
        FROM jsonb_array_elements(
            CASE jsonb_typeof(f.value) WHEN 'array' THEN f.value ELSE jsonb_build_array(f.value) END
        ) AS v
        WHERE v.value <> 'null'
    ) AS e ON true;
END;
