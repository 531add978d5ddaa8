-- _front: what shards have a copy of, as {table: rows}.
-- A grant whose role is gone is not among them: on a shard its name may be another's.
CREATE OR REPLACE FUNCTION pgblend._front()
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'setting', (SELECT coalesce(jsonb_agg(to_jsonb(s)), '[]') FROM pgblend_data.setting AS s),
    'profile', (SELECT coalesce(jsonb_agg(to_jsonb(p)), '[]') FROM pgblend_data.profile AS p),
    'collection', (SELECT coalesce(jsonb_agg(to_jsonb(c)), '[]') FROM pgblend_data.collection AS c),
    'collection_grant', (
        SELECT coalesce(jsonb_agg(to_jsonb(g)), '[]')
        FROM pgblend_data.collection_grant AS g
        WHERE
            g.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
            OR EXISTS (
                SELECT FROM pg_catalog.pg_roles AS r
                WHERE r.rolname = g.role_name AND r.oid = g.role_oid
            )
    ),
    'embedding_space', (
        SELECT coalesce(jsonb_agg(to_jsonb(e)), '[]') FROM pgblend_data.embedding_space AS e)
);
