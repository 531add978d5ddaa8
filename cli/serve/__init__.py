"""The HTTP door: searches, contexts and answers for callers with a token, as a role of theirs."""
