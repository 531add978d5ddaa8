-- _tenant_conditions: what filters the collections whose attached table has a tenant_column, as an
-- array of filters: rows of the tenant alone, or none where no tenant is set, with a WARNING.
-- The tenant is that of the settings, else that of the session. It is compared as a text and, where
-- it is one, as a number.
CREATE OR REPLACE FUNCTION pgblend._tenant_conditions(settings jsonb, collection_ids bigint[])
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    tenant text := coalesce(
        settings ->> 'tenant', nullif(current_setting('pgblend.tenant', true), ''));
    same jsonb := jsonb_build_array(tenant) || CASE
        WHEN tenant ~ '^-?\d{1,18}$' THEN jsonb_build_array(tenant::bigint) ELSE '[]' END;
    found record;
    passing jsonb;
    conditions jsonb := '[]';
BEGIN
    FOR found IN
        SELECT c.name, a.tenant_column
        FROM pgblend_data.attached_table AS a
        INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id
        WHERE c.id = ANY(collection_ids) AND a.tenant_column IS NOT NULL
        ORDER BY c.id
    LOOP
        passing := jsonb_build_array(
            jsonb_build_object('$collection', jsonb_build_object('ne', found.name)));
        IF tenant IS NULL THEN
            RAISE WARNING 'no tenant is set: nothing of the collection "%" is found', found.name
                USING HINT = 'Pass options => {"tenant": "…"}, or SET pgblend.tenant = ''…''.';
        ELSE
            passing := passing || jsonb_build_object(
                '$metadata.' || found.tenant_column, jsonb_build_object('in', same));
        END IF;
        conditions := conditions || jsonb_build_object('or', passing);
    END LOOP;
    RETURN conditions;
END;
$function$;

-- _search_filter: the filter that a search applies: the caller's, checked, with the settings since
-- and until.
-- Those are conditions on the filter field $date, both ends included. A collection with tenants has
-- its condition as well (_tenant_conditions). NULL where there is nothing to apply.
CREATE OR REPLACE FUNCTION pgblend._search_filter(
    filter jsonb,
    settings jsonb,
    collection_ids bigint[] DEFAULT '{}'
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    dates jsonb := jsonb_strip_nulls(
        jsonb_build_object('gte', settings -> 'since', 'lte', settings -> 'until'));
    conditions jsonb := pgblend._tenant_conditions(settings, collection_ids);
    compiled record;
BEGIN
    IF filter IS NOT NULL THEN
        PERFORM pgblend._check_size(
            'filter', octet_length(filter::text), 'bytes', 'filter_bytes');
        SELECT f.problem, f.hint INTO compiled FROM pgblend._filter_condition(filter, 1) AS f;
        IF compiled.problem IS NOT NULL THEN
            RAISE EXCEPTION '%', compiled.problem
                USING ERRCODE = '22023', HINT = compiled.hint;
        END IF;
    END IF;
    IF dates <> '{}' THEN
        conditions := conditions || jsonb_build_object('$date', dates);
    END IF;
    IF conditions = '[]' THEN
        RETURN filter;
    END IF;
    RETURN jsonb_build_object('and', conditions || coalesce(filter, '{}'));
END;
$function$;
