"""Which workflow answers a question from documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.nodes.classifying import classified

if TYPE_CHECKING:
    from secondlook.settings.workflows import AutoSettings

_ACCOUNT = re.compile(
    r"\b(?:compare|contrast|discuss|evaluate|assess|analy[sz]e|argue|outline the|trace the)\b"
    r"|\b(?:pros and cons|arguments? (?:for|against)|advantages and disadvantages|strengths and"
    r" weaknesses|for and against|in (?:what|which) ways|to what extent|similarities|differences"
    r" between)\b"
    r"|\b(?:explain|describe)\b.{0,60}\b(?:how|why|and|between)\b",
    re.IGNORECASE,
)
"""An account has no short answer: what it is worth is the evidence that it lays out."""


def asks_for_account(question: str) -> bool:
    return _ACCOUNT.search(question) is not None


def from_documents(question: str, settings: AutoSettings) -> tuple[str, str]:
    """The workflow, and why."""
    if asks_for_account(question):
        return settings.account, "It asks for an account of several things"
    verdict = classified(question, choices=0)
    if verdict.kind == "multi_hop":
        return settings.several_facts, f"Several facts from documents ({verdict.why})"
    return settings.one_fact, "One fact from documents"
