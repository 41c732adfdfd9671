"""What a question asks for and where its answer may lie: by rules and the small models, no LLM."""

from secondlook.nodes.considering.deciding import decided

__all__ = ["decided"]
