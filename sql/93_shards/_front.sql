-- _front: what shards have a copy of, as {table: rows}.
CREATE OR REPLACE FUNCTION pgblend._front()
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'setting', (SELECT coalesce(jsonb_agg(to_jsonb(s)), '[]') FROM pgblend_data.setting AS s),
    'profile', (SELECT coalesce(jsonb_agg(to_jsonb(p)), '[]') FROM pgblend_data.profile AS p),
    'collection', (SELECT coalesce(jsonb_agg(to_jsonb(c)), '[]') FROM pgblend_data.collection AS c),
    'collection_grant', (
        SELECT coalesce(jsonb_agg(to_jsonb(g)), '[]') FROM pgblend_data.collection_grant AS g),
    'embedding_space', (
        SELECT coalesce(jsonb_agg(to_jsonb(e)), '[]') FROM pgblend_data.embedding_space AS e)
);
