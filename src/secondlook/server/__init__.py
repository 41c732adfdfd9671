"""The HTTP face: parses a request, calls the engine or a library, presents what came of it."""
