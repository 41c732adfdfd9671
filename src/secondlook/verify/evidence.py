"""Whether what an answer cites carries what it claims: by its numbers and by its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support import joined_evidence, without_marks
from secondlook.verify.report import Report, shown
from secondlook.verify.standing import rests_on

if TYPE_CHECKING:
    from secondlook.answer import Answer, Claim
    from secondlook.reading.support import Support


def check_evidence(answer: Answer, report: Report, *, support: Support, min_support: float) -> None:
    """What code computed is done again instead, which is more than a judge can do."""
    if rests_on(answer) != "sources":
        return
    said = [(at, claim) for at, claim in enumerate(answer.claims, 1) if claim.computation is None]
    pairs = [(claim.text, evidence_of(claim, answer)) for _, claim in said]
    judged = zip(said, pairs, support.support(pairs) if pairs else (), strict=True)
    for (at, claim), (_, evidence), score in judged:
        _check_claim(claim, f"claim {at}", evidence, score, min_support, report)


def evidence_of(claim: Claim, answer: Answer) -> str:
    """The quotes that a claim cites, in its order, each under its title."""
    given = {citation.number: citation for citation in answer.citations}
    cited = [given[number] for number in claim.citations if number in given]
    return joined_evidence((citation.title, citation.quote) for citation in cited)


def _check_claim(  # noqa: PLR0917
    claim: Claim, where: str, evidence: str, score: float, min_support: float, report: Report
) -> None:
    # A sentence that is marked as unsupported says so itself.
    tell = report.note if claim.supported is False else report.wrong
    if missing := missing_numbers(without_marks(claim.text), evidence):
        listed = ", ".join(dict.fromkeys(missing))
        tell("number", where, f"{shown(listed)} stands nowhere in what it cites")
    if score < min_support:
        tell(
            "support",
            where,
            f"what it cites supports it by {score:.2f}, less than {min_support:.2f}: "
            f"{shown(claim.text)}",
        )
