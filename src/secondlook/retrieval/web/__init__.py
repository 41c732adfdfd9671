"""The web as a last resort: search it, read the pages found, cut them into passages."""
