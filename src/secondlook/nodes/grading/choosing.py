"""Who grades what: the one that was chosen, and the reader for all that it leaves open."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from secondlook.errors import ModelError, UsageError
from secondlook.nodes import ranking
from secondlook.nodes.grading.by_reader import ReaderGrader
from secondlook.nodes.grading.fit import fit_to_grade, unfit
from secondlook.nodes.grading.port import NODE, Grading, Verdicts
from secondlook.state import READER, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.context import Context
    from secondlook.nodes.grading.by_model import ModelGrader
    from secondlook.nodes.grading.fit import Fit
    from secondlook.reading.calibration import Calibration
    from secondlook.state import Found


async def graded(context: Context, question: str, found: Sequence[Found]) -> Grading:
    """The same passages, the first `corrective.graded` that had no grade with one.

    A passage is graded once in a run. Whatever a model does, each passage that the reader has
    seen gets a grade: where the model's is missing, the reader's.
    """
    open_ones = [item for item in found if item["grade"] == "not graded"]
    items = open_ones[: context.settings.corrective.graded]
    reader = ReaderGrader(_calibration(context))
    plan = _plan(context, reader, items)
    calls = context.ledger.usage().calls
    asked = plan.asked if plan.model else []
    said = await plan.model.verdicts(question, asked) if plan.model and asked else Verdicts()
    made = _Made(
        by_reader=await reader.verdicts(question, items),
        by_model=said,
        model=plan.model.name if plan.model else "",
    )
    items = [made.marked(item) for item in items]
    numbers = _numbers(items, asked, said, calls=context.ledger.usage().calls - calls)
    return Grading(
        found=_put_back(found, items),
        numbers={**numbers, **plan.numbers},
        warnings=[*plan.warnings, *_about(said, asked)],
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which passages a model is asked about, and what is to be said of that."""

    numbers: dict[str, Scalar]
    model: ModelGrader | None = None
    asked: Sequence[Found] = ()
    warnings: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class _Made:
    by_reader: Verdicts
    by_model: Verdicts
    model: str

    def marked(self, item: Found) -> Found:
        name = item["id"]
        if name in self.by_model.grades:
            return {**item, "grade": self.by_model.grades[name], "graded_by": self.model}
        if name in self.by_reader.grades:
            return {**item, "grade": self.by_reader.grades[name], "graded_by": READER}
        return item


def _plan(context: Context, reader: ReaderGrader, items: Sequence[Found]) -> _Plan:
    chosen = context.settings.corrective.grader
    numbers: dict[str, Scalar] = {"grader": chosen}
    if chosen == "reader":
        return _Plan(numbers)
    fit = fit_to_grade(context)
    if chosen == "auto":
        if why := _not_asked(context, fit):
            return _Plan({**numbers, "not_asked": why})
        return _Plan(numbers, _model(context, fit, alone=False), reader.grey(items))
    if not context.models.serves("grade"):
        none = UsageError(f"no model serves the role 'grade', so {chosen!r} cannot grade")
        return _Plan(numbers, warnings=(trouble(NODE, none, "the reader graded instead"),))
    objection = unfit(fit)
    warned = (
        (trouble(NODE, objection, "it was asked all the same, as chosen"),) if objection else ()
    )
    return _Plan(numbers, _model(context, fit, alone=chosen == "llm-each"), items, warned)


def _not_asked(context: Context, fit: Fit | None) -> str | None:
    """Why `auto` asks no model; None when it does."""
    if not context.models.serves("grade"):
        return "there is no model"
    if fit is None or fit.passages is None:
        return "the model's grading was never measured"
    return None if fit.passages.fit else "the model grades badly"


def _model(context: Context, fit: Fit | None, *, alone: bool) -> ModelGrader:
    from secondlook.nodes.grading.by_model import ModelGrader  # prompts and all

    chosen = context.settings.corrective.few_shot
    as_probed = fit is not None and fit.passages is not None and fit.passages.few_shot
    return ModelGrader(
        context.models,
        texts=partial(ranking.texts, context),
        few_shot=as_probed if chosen == "auto" else chosen == "on",
        alone=alone,
    )


def _calibration(context: Context) -> Calibration | None:
    try:
        return context.calibration
    except ModelError:  # no reader: there are no scores, and others tell why
        return None


def _numbers(
    items: Sequence[Found], asked: Sequence[Found], said: Verdicts, *, calls: int
) -> dict[str, Scalar]:
    by = Counter(READER if item["graded_by"] == READER else "model" for item in _graded(items))
    grades = Counter(item["grade"] for item in items)
    return {
        "graded": len(_graded(items)),
        "about": grades["about"],
        "answers": grades["answers"],
        "irrelevant": grades["irrelevant"],
        "by_reader": by[READER],
        "by_model": by["model"],
        "calls": calls,
        "missing": len(asked) - len(said.grades),
        "unknown": said.unknown,
    }


def _graded(items: Sequence[Found]) -> list[Found]:
    return [item for item in items if item["grade"] != "not graded"]


def _about(said: Verdicts, asked: Sequence[Found]) -> list[dict[str, Any]]:
    if said.error is None:
        return []
    missing = len(asked) - len(said.grades)
    return [trouble(NODE, said.error, f"the reader graded {missing} of {len(asked)} instead")]


def _put_back(found: Sequence[Found], items: Sequence[Found]) -> list[Found]:
    by_id = {item["id"]: item for item in items}
    return [by_id.get(item["id"], item) for item in found]
