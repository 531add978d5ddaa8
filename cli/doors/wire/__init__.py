"""The door of SQL clients: PostgreSQL's own protocol, handed on as it is."""
