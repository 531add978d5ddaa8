-- _create_table_triggers: put the triggers of an attachment on its table.
-- There is one for each kind of statement, with transition tables. Partitions and apply workers
-- would not fire those, so such tables have one for rows, enabled always.
CREATE OR REPLACE FUNCTION pgblend._create_table_triggers(attached pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    event text;
    tables text;
BEGIN
    IF attached.row_level THEN
        -- Calls in text: _row_changed, _table_changed (triggers of a user's table).
        EXECUTE format('CREATE TRIGGER pgblend_rows AFTER INSERT OR UPDATE OR DELETE ON %s
            FOR EACH ROW EXECUTE FUNCTION pgblend._row_changed(%L)',
            attached.relation, attached.id);
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER pgblend_rows', attached.relation);
    ELSE
        FOR event, tables IN VALUES
            ('insert', 'NEW TABLE AS new_rows'),
            ('update', 'OLD TABLE AS old_rows NEW TABLE AS new_rows'),
            ('delete', 'OLD TABLE AS old_rows')
        LOOP
            EXECUTE format('CREATE TRIGGER pgblend_%1$s AFTER %1$s ON %2$s REFERENCING %3$s
                FOR EACH STATEMENT EXECUTE FUNCTION pgblend._table_changed(%4$L)',
                event, attached.relation, tables, attached.id);
        END LOOP;
    END IF;
    PERFORM pgblend._create_truncate_triggers(attached);
END;
$function$;

-- _keep_attachment: let the wanted attachment be that of its table; returns its number.
-- Runs with its owner's rights, since nobody else writes what triggers and readers of attached
-- tables believe, or makes such triggers. The table is one that _not_attachable allows whoever
-- asks.
CREATE OR REPLACE FUNCTION pgblend._keep_attachment(wanted pgblend_data.attached_table)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    who name := pgblend._asking_role();
    problem text := pgblend._not_attachable(who, wanted.relation);
    named text := wanted.relation;
    old pgblend_data.attached_table;
    how record;
BEGIN
    IF problem IS NULL THEN
        -- Calls in text: none (a user's table).
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', named);
        problem := pgblend._not_attachable(who, wanted.relation);
    END IF;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION '%', problem USING ERRCODE = '42501';
    ELSIF wanted.relation::text <> named THEN
        RAISE EXCEPTION '% was renamed meanwhile', named USING ERRCODE = '40001';
    END IF;
    FOR old IN DELETE FROM pgblend_data.attached_table AS a
        WHERE a.relation = wanted.relation OR a.collection_id = wanted.collection_id
            AND NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = a.relation)
        RETURNING a.*
    LOOP
        PERFORM pgblend._drop_table_triggers(old);
    END LOOP;
    PERFORM pgblend._drop_table_triggers(wanted);
    wanted.table_owner := (
        SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = wanted.relation);
    -- What lesser roles say of the kept SQL, or of the kind of relation, is not believed.
    wanted.is_view := (SELECT c.relkind = 'v' FROM pg_class AS c WHERE c.oid = wanted.relation);
    how := pgblend._attachment_queries(wanted);
    IF how.problem IS NOT NULL THEN
        RAISE EXCEPTION '%', how.problem USING ERRCODE = '42703';
    END IF;
    INSERT INTO pgblend_data.attached_table (
        relation, table_name, collection_id, made_collection, key_columns, text_columns,
        title_column, metadata_columns, uri_column, modified_column, tenant_column, row_filter,
        filter_columns, text_format, embedding_column, space, embed_long_rows, table_owner, row_level, is_view,
        shape, key_of, relevant, foreign_keys, partitions)
    VALUES (
        wanted.relation, wanted.table_name, wanted.collection_id, wanted.made_collection,
        wanted.key_columns, wanted.text_columns, wanted.title_column, wanted.metadata_columns,
        wanted.uri_column, wanted.modified_column, wanted.tenant_column, wanted.row_filter,
        wanted.filter_columns, wanted.text_format, wanted.embedding_column, wanted.space,
        coalesce(wanted.embed_long_rows, false), wanted.table_owner, wanted.row_level, wanted.is_view,
        pgblend._table_shape(wanted.relation), how.key_of, how.relevant,
        pgblend._foreign_key_names(wanted.relation), pgblend._partitions(wanted.relation))
    RETURNING id INTO wanted.id;
    IF NOT wanted.is_view THEN
        PERFORM pgblend._create_table_triggers(wanted);
    END IF;
    RETURN wanted.id;
END;
$function$;
