"""The Model Context Protocol: the engine as tools and resources for assistants."""
