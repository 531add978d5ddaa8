"""The pgblend command line: ingest, search, administer."""
