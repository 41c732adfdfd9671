"""A person's documents, made searchable."""
