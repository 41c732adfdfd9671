"""Whether two questions ask the same, so that research may be used again."""

from secondlook.nodes.remembering.sameness import Verdict, same_question

__all__ = ["Verdict", "same_question"]
