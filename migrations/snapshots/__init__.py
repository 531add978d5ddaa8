"""sql/ as it was rendered at each revision; released ones never change (released.sha256)."""
