"""Questions that come with answers to choose from: the choices set apart from what is asked."""

from secondlook.nodes.multiple_choice.parsing import MOST, Parsed, parsed, rendered

__all__ = ["MOST", "Parsed", "parsed", "rendered"]
