"""A question asked again in other words: what a rewrite must obey, and one made by code."""

from __future__ import annotations

from secondlook.nodes.rewriting.expansion import expanded
from secondlook.nodes.rewriting.guard import Reason, Verdict, accepted

__all__ = ["Reason", "Verdict", "accepted", "expanded"]
