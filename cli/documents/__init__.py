"""Files become documents: found, read, cut into passages, stored."""
