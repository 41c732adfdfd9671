"""What there is to choose from, as neutral matters to look into: told by a model, cut by code.

Whoever researches sees neither a choice nor how they were ordered, and so cannot go looking for
one of them.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field

from secondlook.errors import UnusableReply
from secondlook.nodes.follow_up import names
from secondlook.prompts import CONTROL_MARK, EVIDENCE_MARK, evidence_marks, load
from secondlook.retrieval.analyse import query_terms, terms
from secondlook.retrieval.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.context import Context

NODE: Final = "issues"
MOST: Final = 6
"""Matters that a plan is given: it has three steps."""
_LONGEST: Final = 12
_FEW: Final = 8
"""Words that say something, in a question that names no facts."""
_ALIKE: Final = 0.7
_STOP_WORDS: Final = frozenset(STOP_WORDS["english"])
_ASKS = re.compile(
    r"(?:(?:in|at|on|by|for|to|under|of) )?(?:which|what)\b|.*\bwhich of (?:the following|these)\b",
    re.IGNORECASE,
)
_OFFICE = re.compile(r"\b(?:the|an?) [A-Z][a-z]+(?! [A-Z])")
"""The Senate, a State: a capital that names no one."""
_TWO_SENTENCES = re.compile(r"[.!?][\"'\u201d)]*\s+\S")
_POINTS = re.compile(r"\A\W*[A-H1-9][.):]|\b(?i:option|choice|answer|statement)s? (?:[A-H]|\d)\b")


class IssueList(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="ignore")

    issues: list[str] = Field(description="Neutral matters to look into, as short noun phrases.")


def names_no_facts(stem: str) -> bool:
    """Whether the question alone gives nothing to search for: "Which act would be improper?"."""
    text = " ".join(stem.split())
    plain = _OFFICE.sub("the office", text[:1].lower() + text[1:])
    if not _ASKS.match(text) or _TWO_SENTENCES.search(text) or re.search(r"\d", text):
        return False
    return next(names(plain), None) is None and len(set(query_terms(text))) <= _FEW


def shuffled(texts: Iterable[str]) -> list[str]:
    """In an order that comes from each text alone: whatever order and letters they had."""
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode()).hexdigest())


async def issues_of(context: Context, stem: str, texts: Iterable[str]) -> list[str]:
    """In one call. Raises ModelError or BudgetExceeded, also where nothing of it is usable."""
    prompt, options = load(NODE), shuffled(" ".join(text.split()) for text in texts)
    evidence = evidence_marks(context.run).wrap(options)
    reply = await context.models.ask(
        "plan",
        prompt.render(question=" ".join(stem.split()), evidence=evidence),
        IssueList,
        node=NODE,
        max_tokens=prompt.max_tokens,
    )
    made = neutral(reply.value.issues if reply.value else [], options)
    if not made:
        raise UnusableReply(f"{context.models.name('plan')} named no neutral matter")
    return made


def neutral(said: Iterable[str], options: Iterable[str]) -> list[str]:
    """Of what a model named: what copies no option and points to none, once each and sorted."""
    offered = [" ".join(text.split()) for text in options]
    tidy = (" ".join(issue.split()).strip("-*\u2022 .;\"'") for issue in said)
    once = {issue.casefold(): issue for issue in tidy if _is_usable(issue, offered)}
    return [once[name] for name in sorted(once)][:MOST]


def _is_usable(issue: str, options: list[str]) -> bool:
    if not issue or len(issue.split()) > _LONGEST or _says_nothing(issue):
        return False
    if CONTROL_MARK.search(issue) or EVIDENCE_MARK.search(issue) or _POINTS.search(issue):
        return False
    return not any(_copies(issue, option) for option in options)


def _says_nothing(issue: str) -> bool:
    return all(word.casefold() in _STOP_WORDS for word in re.findall(r"\w+", issue))


def _copies(issue: str, option: str) -> bool:
    """Word for word, whole or in part, or nearly so."""
    own, other = terms(issue), terms(option)
    together = set(own) | set(other)
    if together and len(set(own) & set(other)) >= _ALIKE * len(together):
        return True
    one, all_of_it = f" {' '.join(own)} ", f" {' '.join(other)} "
    return one in all_of_it or (len(other) > 1 and all_of_it in one)
