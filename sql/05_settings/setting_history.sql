-- _owner_record_history: trigger that keeps every change of a profile's or collection's settings.
-- One row a changed setting; a profile's description is kept under the name "description".
CREATE OR REPLACE FUNCTION pgblend._owner_record_history()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    old_row jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) ELSE '{}' END;
    new_row jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) ELSE '{}' END;
BEGIN
    INSERT INTO pgblend_data.setting_history (scope, subject, name, old_value, new_value)
    SELECT TG_TABLE_NAME, coalesce(new_row ->> 'name', old_row ->> 'name'),
        key, o.value, n.value
    FROM jsonb_each(
        coalesce(old_row -> 'settings', '{}')
        || jsonb_strip_nulls(jsonb_build_object('description', old_row -> 'description'))) AS o
    FULL JOIN jsonb_each(
        coalesce(new_row -> 'settings', '{}')
        || jsonb_strip_nulls(jsonb_build_object('description', new_row -> 'description'))) AS n
        USING (key)
    WHERE o.value IS DISTINCT FROM n.value
    ORDER BY key;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER profile_10_record_history AFTER INSERT OR UPDATE OR DELETE
ON pgblend_data.profile
FOR EACH ROW EXECUTE FUNCTION pgblend._owner_record_history();
CREATE OR REPLACE TRIGGER collection_10_record_history
AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._owner_record_history();

-- _setting_record_history: trigger that keeps every change of a setting.
CREATE OR REPLACE FUNCTION pgblend._setting_record_history()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.setting_history (name, old_value, new_value)
    VALUES (
        coalesce(NEW.name, OLD.name),
        CASE WHEN TG_OP <> 'INSERT' THEN OLD.value END,
        CASE WHEN TG_OP <> 'DELETE' THEN NEW.value END);
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER setting_10_record_history AFTER INSERT OR UPDATE OR DELETE
ON pgblend_data.setting
FOR EACH ROW EXECUTE FUNCTION pgblend._setting_record_history();
