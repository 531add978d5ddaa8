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
