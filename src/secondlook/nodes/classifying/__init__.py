"""Whether a question is about one thing, answered in one pass, or needs several."""

from secondlook.nodes.classifying.by_rules import Verdict, classified

__all__ = ["Verdict", "classified"]
