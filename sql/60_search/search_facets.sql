-- _facet_values: what the chunks of a pool have under keys: one row for each chunk, key and value.
-- Keys are those of filters: of metadata, the chunk's over the document's, or built-in fields;
-- $date, $modified_at and $ingested_at give days in UTC. An array gives its elements, each once.
-- value is NULL where there is none: the key is missing, or null, or an array without elements.
CREATE OR REPLACE FUNCTION pgblend._facet_values(chunk_ids bigint[], keys text[])
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
            jsonb_build_object(
                '$chunk_id', c.id,
                '$collection', n.name,
                '$date', (
                    coalesce(
                        d.modified_at, pgblend._iso_timestamp(d.metadata ->> 'date'), d.ingested_at
                    ) AT TIME ZONE 'UTC'
                )::date,
                '$document_id', d.id,
                '$ingested_at', (d.ingested_at AT TIME ZONE 'UTC')::date,
                '$kind', c.kind,
                '$language', d.text_search_config,
                '$media_type', d.media_type,
                '$modified_at', (d.modified_at AT TIME ZONE 'UTC')::date,
                '$source_key', d.source_key,
                '$title', d.title,
                '$uri', d.uri
            ) AS fields
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
                SELECT ('strict $' || string_agg('.' || to_json(s.step)::text, '' ORDER BY s.place))
                FROM string_to_table(w.whole, '.') WITH ORDINALITY AS s (step, place)
            )::jsonpath AS path
        FROM unnest(keys) WITH ORDINALITY AS k (name, place)
        CROSS JOIN LATERAL regexp_replace(k.name, '^\$metadata\.', '') AS w (whole)
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
                    jsonb_path_query_first(p.metadata, a.path, '{}', silent => true)
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

-- search_facets: how many of a search's candidates have each value of some keys.
-- What is counted is the pool that pages are cut from, not one page. It has all candidates that
-- the arms gave and that min_score, min_relevance and the other stages left: at most
-- candidate_depth from each arm. pool_size says how many. Passages beyond it are not counted. Keys
-- are those of filters (metadata, "a.b", "$language", …), dates by day; a value can be put into a
-- filter. Of arrays each element counts once. By key as asked, then by count, then by value; at
-- most result_limit values a key. A last row of each key with value NULL counts the passages
-- without one (missing, null or an empty array), where there are any. Collections, filter,
-- profile, options, query_embedding and errors are those of hybrid_search. offset counts for
-- nothing, and no stage runs that could only reorder the pool. NULL or blank query: no rows.
-- Example: SELECT * FROM search_facets('wine', ARRAY['author', '$language']).
CREATE OR REPLACE FUNCTION blend.search_facets(
    query text,
    keys text[],
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL
)
RETURNS TABLE (
    key text,
    value jsonb,
    count bigint,
    document_count bigint,
    pool_size bigint
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
    pool bigint[];
BEGIN
    PERFORM pgblend._check_result_limit(result_limit);
    IF coalesce(cardinality(keys), 0) NOT BETWEEN 1 AND 100 OR array_position(keys, NULL) > 0 THEN
        RAISE EXCEPTION 'keys is %: expected from 1 to 100 keys, none of them NULL',
            coalesce(left(keys::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: ARRAY[''author'', ''$language'']';
    END IF;
    SELECT regexp_replace(f.problem, '^filter', 'keys'), f.hint INTO problem, problem_hint
    FROM unnest(keys) AS k
    CROSS JOIN LATERAL pgblend._filter_condition(
        jsonb_build_object(k, '{"exists": true}'::jsonb), 1) AS f
    WHERE (k LIKE '$%' OR k LIKE '%.%') AND f.problem IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '%', problem USING ERRCODE = '22023', HINT = problem_hint;
    END IF;
    search := pgblend._search(
        query, 0, collections, filter, profile,
        coalesce(options, '{}') || '{"expand": "off", "rerank": "off"}', query_embedding,
        traced => 'pool');
    pool := ARRAY(
        SELECT (c ->> 'chunk_id')::bigint
        FROM jsonb_array_elements(search.trace -> 'candidates') AS c
        WHERE c -> 'places' ? 'page');
    RETURN QUERY
    WITH counted AS (
        SELECT
            v.key_place,
            (array_agg(v.value ORDER BY v.value::text COLLATE "C"))[1] AS value,
            count(*) AS count,
            count(DISTINCT v.document_id) AS document_count
        FROM pgblend._facet_values(pool, keys) AS v
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
        cardinality(pool)::bigint
    FROM ranked AS r
    WHERE r.value IS NULL OR r.place <= result_limit
    ORDER BY r.key_place, r.place;
END;
$function$;
