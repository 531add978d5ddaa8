-- _key_types: the types of key columns: PostgreSQL's own, whose values have one text in all
-- sessions.
-- They are known by their numbers, since a type of a user's may have any name.
CREATE OR REPLACE FUNCTION pgblend._key_types()
RETURNS oid[]
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN '{int2,int4,int8,numeric,text,varchar,bpchar,uuid,bool,date,timestamp}'::regtype[]::oid[];
