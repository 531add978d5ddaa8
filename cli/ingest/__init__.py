"""From files to documents, chunks and vectors in the database."""
