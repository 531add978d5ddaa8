-- _filter_count: how many passages of collections pass a filter; of a NULL filter all.
CREATE OR REPLACE FUNCTION pgblend._filter_count(filter jsonb, collection_ids bigint[])
RETURNS bigint
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN coalesce(cardinality(pgblend._filtered_ids(filter, collection_ids, NULL)), 0);
END;
$function$;
