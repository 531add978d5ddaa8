-- _shielded: a connection string that takes nothing from the account that the server runs as.
-- Else whoever may search could name another user in a mapping of its own, and come in by that
-- account's passwords, certificate or ticket. What the string says itself comes after, and counts.
CREATE OR REPLACE FUNCTION pgblend._shielded(connection text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN starts_with(connection, 'passfile=/dev/null ') THEN connection
    ELSE 'passfile=/dev/null sslcert=/dev/null/none gssencmode=disable ' || connection
END;
