-- _named_space: the embedding space of that name; an error where there is none. NULL names none.
CREATE OR REPLACE FUNCTION pgblend._named_space(space text)
RETURNS pgblend_data.embedding_space
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN pgblend._searched_space(coalesce(space, ''));
