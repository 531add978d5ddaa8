"""Rules that change a search's order: boosts, decays, pinned and hidden documents, synonyms."""
