"""A small text-to-text model that says what a question means."""
