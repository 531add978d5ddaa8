-- _asking_role: who asks: the role in force at the outermost call, also within definer functions.
-- That is what SET ROLE chose, which an application behind a pooler does for each user, else the
-- session's own. Nobody can set it to a role that they are no member of.
CREATE OR REPLACE FUNCTION pgblend._asking_role()
RETURNS name
LANGUAGE sql
STABLE PARALLEL UNSAFE
RETURN coalesce(nullif(current_setting('role'), 'none')::name, session_user);
