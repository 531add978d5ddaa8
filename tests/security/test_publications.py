"""A publication FOR ALL TABLES, which others make, stops no delete and no update."""

from support.database import Database, add_space


def test_all_that_is_deleted_with_a_publication(committed: Database) -> None:
    db = committed
    db.rows("CREATE PUBLICATION everything FOR ALL TABLES")
    assert db.column(
        "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'pgblend_data'::regnamespace"
        " AND c.relkind = 'r' AND c.relreplident = 'd' AND NOT EXISTS ("
        " SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary)"
    ) == []  # fmt: skip
    add_space(db, "s", 3)
    db.rows("SELECT add_collection('books')")
    for key in ("a", "b", "c"):
        db.rows("SELECT ingest_document('books', %s, 'A walrus swims.')", key)
    db.rows("SELECT ingest_document('books', 'a', 'Another walrus swims.')")
    db.rows("SELECT lexical_seal('books')")
    db.rows("SELECT lexical_rebuild('books')")
    db.rows("SELECT delete_document('books', 'a')")
    db.rows("SELECT * FROM forget_document((SELECT document_id FROM documents LIMIT 1))")
    db.rows("SELECT add_judged_set('mine', 'books')")
    db.rows("SELECT record_judgement('mine', 'walrus', source_key, 1) FROM documents")
    db.rows("SELECT remove_judged_set('mine')")
    db.rows("CREATE TABLE public.t (id int PRIMARY KEY, body text)")
    db.rows("INSERT INTO public.t VALUES (1, 'x'), (2, 'y')")
    db.rows("SELECT attach_table('public.t', '{body}')")
    db.rows("DELETE FROM public.t WHERE id = 1")
    db.rows("TRUNCATE public.t")
    db.rows("SELECT detach_table('public.t')")
    db.rows("SELECT grant_collection('books', 'pgblend_reader')")
    db.rows("SELECT revoke_collection('books', 'pgblend_reader')")
    db.rows("SELECT set_setting('rrf_k', '7')")
    db.rows("SELECT reset_setting('rrf_k')")
    db.rows("SELECT drop_embedding_space('s', true)")
    db.rows("SELECT remove_collection('books')")
    assert db.rows("SELECT * FROM collections") == []
