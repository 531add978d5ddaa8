-- Private routines of 0.0.1 that return something else now: PostgreSQL replaces no such routine.
-- By other names they are dropped with all that is not made anew (objects.sql).

ALTER FUNCTION pgblend._apply_changes(pgblend_data.attached_table, text[])
RENAME TO _apply_changes_0010;
ALTER FUNCTION pgblend._parse_query(text, text, text[]) RENAME TO _parse_query_0010;
ALTER FUNCTION pgblend._queue_again(bigint[]) RENAME TO _queue_again_0010;
ALTER FUNCTION pgblend._want_summaries(bigint[], boolean) RENAME TO _want_summaries_0010;
