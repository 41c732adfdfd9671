"""OpenAI's chat completions over the same engine: for clients that know no other way to ask."""
