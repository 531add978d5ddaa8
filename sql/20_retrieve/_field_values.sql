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
