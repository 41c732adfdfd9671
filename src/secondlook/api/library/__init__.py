"""A library over HTTP: its documents, tables, passages, and how files get in."""
