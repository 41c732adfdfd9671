"""What a model is asked about a draft, in the role that grades: yes or no, as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.errors import UnusableReply
from secondlook.nodes.checking.forms import Verdict, verdicts_of
from secondlook.prompts import evidence_marks, load
from secondlook.state import trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.models import Message
    from secondlook.nodes.checking.evidence import Backed
    from secondlook.nodes.checking.forms import Verdicts

_ENTRY_TOKENS = 24
"""Of one verdict in the reply, as widely spaced as models write JSON."""


@dataclass(frozen=True, slots=True)
class SentenceVerdicts:
    by_place: dict[int, bool]
    """Counted from 0. What the model left out, or judged in two ways, is not in it."""
    unknown: int
    """Verdicts on sentences that there are not."""


async def sentence_verdicts(
    context: Context, question: str, ones: Sequence[Backed]
) -> SentenceVerdicts:
    """Whether each sentence stands on its own evidence, in one call. Raises ModelError or
    BudgetExceeded."""
    prompt = load("check_grounded")
    evidence = evidence_marks(context.run).wrap([one.evidence for one in ones])
    reply = await context.models.ask(
        "grade",
        prompt.render(question=question, sentences=_numbered(ones), evidence=evidence),
        verdicts_of(len(ones)),
        node=prompt.name,
        max_tokens=prompt.max_tokens + _ENTRY_TOKENS * len(ones),
        final=True,
    )
    return _by_place(reply.value, len(ones))


async def useful_verdict(context: Context, question: str, text: str) -> bool:
    """Whether the text addresses the question. Raises ModelError or BudgetExceeded."""
    evidence = evidence_marks(context.run).wrap([text])
    messages = load("check_useful").render(question=question, evidence=evidence)
    return await yes_or_no(context, messages, node="check_useful")


async def yes_or_no(context: Context, messages: Sequence[Message], *, node: str) -> bool:
    reply = await context.models.ask(
        "grade", messages, Verdict, node=node, max_tokens=load(node).max_tokens, final=True
    )
    if reply.value is None:
        raise UnusableReply(f"{context.models.name('grade')} gave {node} no verdict")
    return reply.value.verdict == "yes"


def unfit_judge(context: Context, node: str) -> list[dict[str, Any]]:
    """A warning, with the figures, where the model was measured to judge answers badly."""
    from secondlook.nodes.grading.fit import fit_to_grade, unfit_for_answers

    objection = unfit_for_answers(fit_to_grade(context))
    return [trouble(node, objection, "it was asked as it is set")] if objection else []


def _numbered(ones: Sequence[Backed]) -> str:
    return "\n".join(
        f"Sentence {number}: {' '.join(one.text.split())}" for number, one in enumerate(ones, 1)
    )


def _by_place(said: Verdicts | None, count: int) -> SentenceVerdicts:
    found: dict[int, set[bool]] = {}
    unknown = 0
    for entry in said.verdicts if said else ():
        if 1 <= entry.number <= count:
            found.setdefault(entry.number - 1, set()).add(entry.verdict == "yes")
        else:
            unknown += 1
    return SentenceVerdicts(
        {place: next(iter(ways)) for place, ways in found.items() if len(ways) == 1}, unknown
    )
