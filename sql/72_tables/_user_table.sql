-- _user_table: the relation of that name, as SQL reads names; NULL where there is none.
-- Without a schema it is one of public: a routine's search_path is not its caller's. What is no
-- name is an error.
CREATE OR REPLACE FUNCTION pgblend._user_table(table_name text)
RETURNS regclass
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN CASE
    WHEN cardinality(parse_ident(table_name)) = 1 THEN to_regclass('public.' || table_name)
    ELSE to_regclass(table_name)
END;
