"""Whether a model may be trusted to grade, as `secondlook models probe` has measured it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.context import Context
from secondlook.errors import ModelError
from secondlook.nodes.grading.labelled import answers_identity, passages_identity

if TYPE_CHECKING:
    from secondlook.models import Asker, Role
    from secondlook.models.probe_store import GradingFigures, Probe


class UnfitGrader(ModelError):
    """A model that was chosen by hand to grade, although it was measured not to be able to."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What is known of one model as a grader. None where it was not measured, or by a version
    that asked or counted otherwise."""

    model: str
    passages: GradingFigures | None
    answers: GradingFigures | None

    @property
    def grades_passages(self) -> bool:
        return self.passages is not None and self.passages.fit

    @property
    def judges_answers(self) -> bool:
        return self.answers is not None and self.answers.fit


def fit_to_grade(who: Context | Asker, role: Role = "grade") -> Fit | None:
    """The model that serves the role; None where there is none, or it was never measured."""
    models = who.models if isinstance(who, Context) else who
    part = models.models.cast.part(role, models.workflow)
    probe = models.models.probe(part.spec) if part.spec.named else None
    return None if probe is None else fit_of(probe)


def fit_of(probe: Probe) -> Fit | None:
    passages = _current(probe.grading, passages_identity())
    answers = _current(probe.answer_grading, answers_identity())
    return Fit(probe.spec, passages, answers) if passages or answers else None


def unfit(fit: Fit | None) -> UnfitGrader | None:
    """The objection to a model that grades passages badly; None where nothing is known of it."""
    if fit is None or fit.passages is None or fit.passages.fit:
        return None
    return UnfitGrader(
        f"{fit.model!r} grades passages badly: {in_words(fit.passages)}",
        hint="corrective.grader=reader or auto does not ask it",
    )


def unfit_for_answers(fit: Fit | None) -> UnfitGrader | None:
    """The same for one that judges answers."""
    if fit is None or fit.answers is None or fit.answers.fit:
        return None
    return UnfitGrader(
        f"{fit.model!r} judges answers badly: {in_words(fit.answers)}",
        hint="answer.enable_answer_grading=false does without it",
    )


def in_words(figures: GradingFigures) -> str:
    """`precision 0.92, recall 0.40 on 36 labelled pairs`"""
    precision = (
        "none (it accepts nothing)" if figures.precision is None else f"{figures.precision:.2f}"
    )
    shown = " with examples" if figures.few_shot else ""
    return (
        f"precision {precision}, recall {figures.recall:.2f} on {figures.pairs} labelled "
        f"pairs{shown}"
    )


def _current(figures: GradingFigures | None, identity: str) -> GradingFigures | None:
    return figures if figures is not None and figures.made_with == identity else None
